// SPDX-License-Identifier: Apache-2.0
#include "testing/gpu_test.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <link.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

namespace upsweep::testing {
namespace {

constexpr std::byte poison{0xA5};

std::unique_ptr<Context>& shared_context() {
  static std::unique_ptr<Context> context;
  return context;
}

DeviceTraits& shared_traits() {
  static DeviceTraits traits;
  return traits;
}

// Drivers stay loaded to the end: what an unloaded one still holds in its static variables looks like a leak.
void pin_drivers() {
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void*) {
        const std::string_view name = info->dlpi_name;
        if (name.contains("libvulkan_") || name.contains("libvk_")) {
          (void)dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
        }
        return 0;
      },
      nullptr);
}

}  // namespace

std::string to_string(Profile profile) {
  switch (profile) {
    case Profile::full: return "full";
    case Profile::no_subgroups: return "no_subgroups";
    case Profile::minimum_limits: return "minimum_limits";
    case Profile::tiny_tiles: return "tiny_tiles";
    case Profile::emulated: return "emulated";
  }
  return "?";
}

const DeviceTraits& device_traits() { return shared_traits(); }

DeviceTraits traits_of(Profile profile, const DeviceTraits& device) {
  DeviceTraits traits = device;
  switch (profile) {
    case Profile::full:
    case Profile::tiny_tiles: break;
    case Profile::no_subgroups: traits = device.without_subgroups(); break;
    case Profile::minimum_limits: traits = device.without_subgroups().with_default_limits(); break;
    case Profile::emulated:
      traits = device.without_subgroups();
      traits.emulated_subgroup_size = 16;
      traits.emulated_subgroup_seed = 77;
      break;
  }
  return traits;
}

GuardedBuffer::GuardedBuffer(Context& context, std::span<const std::byte> bytes, std::uint64_t offset_bytes,
                             std::uint64_t tail_bytes)
    : context_(context), offset_bytes_(offset_bytes), size_bytes_(bytes.size()) {
  const std::uint64_t end = guard_bytes + offset_bytes + bytes.size();
  image_.assign((end + tail_bytes + 3) / 4 * 4, poison);
  std::ranges::copy(bytes, image_.begin() + static_cast<std::ptrdiff_t>(guard_bytes + offset_bytes));
  auto buffer = context.create_buffer(image_.size(), "guarded");
  if (!buffer) {
    ADD_FAILURE() << buffer.error().message;
    return;
  }
  buffer_ = *buffer;
  EXPECT_TRUE(context.write(buffer_, image_).has_value());
}

GuardedBuffer::~GuardedBuffer() {
  if (buffer_ != nullptr) wgpuBufferRelease(buffer_);
}

std::vector<std::byte> GuardedBuffer::read_and_check_guards() const {
  const auto now = context_.read(buffer_, image_.size());
  if (!now) {
    ADD_FAILURE() << now.error().message;
    return {};
  }
  const std::uint64_t first = guard_bytes + offset_bytes_;
  for (std::uint64_t i = 0; i < image_.size(); ++i) {
    if (i >= first && i < first + size_bytes_) continue;
    if ((*now)[i] == image_[i]) continue;
    ADD_FAILURE() << "A byte outside the items was written: offset " << static_cast<std::int64_t>(i - first) << " of "
                  << size_bytes_;
    break;
  }
  return {now->begin() + static_cast<std::ptrdiff_t>(first),
          now->begin() + static_cast<std::ptrdiff_t>(first + size_bytes_)};
}

Context& GpuTest::context() const { return *shared_context(); }

void GpuTest::SetUp() {
  ASSERT_NE(shared_context(), nullptr) << "no WebGPU device";
  context().override_traits(traits_of(GetParam(), device_traits()));
}

void GpuTest::TearDown() {
  if (shared_context() == nullptr) return;
  EXPECT_TRUE(context().wait().has_value());
  while (const auto error = context().take_error()) ADD_FAILURE() << "device error: " << error->message;
  context().release_bindings();
}

bool GpuTest::is_thorough() const {
  if (GetParam() != Profile::full && !is_tiny()) return false;
  return !shared_traits().adapter.contains("SwiftShader") || std::getenv("UPSWEEP_THOROUGH") != nullptr;
}

std::optional<ReduceTuning> GpuTest::reduce_tuning() const {
  if (!is_tiny()) return std::nullopt;
  return ReduceTuning{
      .workgroup_size = 4, .units_per_thread = 2, .max_workgroups = 64, .longest_chain = 3, .one_workgroup_items = 8};
}

std::optional<ScanTuning> GpuTest::scan_tuning() const {
  if (!is_tiny()) return std::nullopt;
  return ScanTuning{.workgroup_size = 4, .rows = 2, .max_workgroups = 5, .one_workgroup_items = 8};
}

std::vector<std::uint32_t> GpuTest::scan_sizes(const ScanTuning& tuning, std::uint32_t most) {
  const std::uint32_t threads = tuning.workgroup_size;
  const std::uint32_t tile = threads * tuning.rows;
  std::vector<std::uint32_t> sizes{0, 1, 2, 3, 4, 7, most};
  for (const std::uint32_t edge :
       {threads, tile, 2 * tile, 4 * tile, 8 * tile, 12 * tile, threads * threads, tuning.one_workgroup_items,
        tuning.max_workgroups * tile, 4 * tuning.max_workgroups * tile}) {
    for (const std::uint32_t size : {edge - 1, edge, edge + 1}) sizes.push_back(size);
  }
  std::ranges::sort(sizes);
  const auto repeated = std::ranges::unique(sizes);
  sizes.erase(repeated.begin(), sizes.end());
  std::erase_if(sizes, [&](std::uint32_t size) { return size > most; });
  return sizes;
}

std::uint32_t GpuTest::affordable(std::uint32_t count) const {
  switch (GetParam()) {
    case Profile::full: return count;
    case Profile::no_subgroups:
    case Profile::minimum_limits: return std::min(count, 20'000u);
    case Profile::emulated: return std::min(count, 10'000u);
    case Profile::tiny_tiles: return std::min(count, 3000u);
  }
  return count;
}

}  // namespace upsweep::testing

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (!testing::GTEST_FLAG(list_tests)) {
    upsweep::AdapterRequest request;
    auto context = upsweep::Context::create(request);
    if (!context) {
      std::fprintf(stderr, "%s\n", context.error().message.c_str());
      return 1;
    }
    std::printf("adapter: %s, driver: %s\n", (*context)->traits().adapter.c_str(), (*context)->driver().c_str());
    // A run that silently used another driver than CTest asked for would prove nothing.
    if (const char* expected = std::getenv("UPSWEEP_EXPECT_ADAPTER")) {
      std::string seen = (*context)->traits().adapter + " " + (*context)->driver();
      std::ranges::transform(seen, seen.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const std::string wanted = std::string(expected) == "lavapipe" ? "llvmpipe" : expected;
      if (seen.find(wanted) == std::string::npos) {
        std::fprintf(stderr, "expected adapter %s, got %s\n", expected, seen.c_str());
        return 1;
      }
    }
    upsweep::testing::pin_drivers();
    upsweep::testing::shared_traits() = (*context)->traits();
    upsweep::testing::shared_context() = std::move(*context);
  }
  const int result = RUN_ALL_TESTS();
  upsweep::testing::shared_context().reset();
  return result;
}
