// SPDX-License-Identifier: Apache-2.0
// Recording again allocates nothing. Global operator new is replaced; while a count is open, each
// call is charged to the library if the first stack frame outside the C++ run time lies in this executable (into which
// the library is linked), and to WebGPU otherwise. WebGPU's own allocations are not the library's to avoid.
#include <execinfo.h>
#include <link.h>

#include <cstdlib>
#include <new>
#include <numeric>

#include "exec/plans_for_tests.h"
#include "upsweep/reduce.h"

namespace {

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  [[nodiscard]] bool holds(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= begin && at < end;
  }
};

struct Ranges {
  Range executable;
  Range run_time;  // libstdc++, whose functions allocate on behalf of their callers
};

struct Counter {
  bool is_open = false;
  std::uint64_t ours = 0;
  std::uint64_t others = 0;
};

Ranges ranges;
thread_local Counter counter;

Ranges find_ranges() {
  Ranges found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* userdata) {
        auto& result = *static_cast<Ranges*>(userdata);
        Range range{~std::uintptr_t{0}, 0};
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD) continue;
          range.begin = std::min<std::uintptr_t>(range.begin, info->dlpi_addr + header.p_vaddr);
          range.end = std::max<std::uintptr_t>(range.end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
        }
        const std::string_view name = info->dlpi_name;
        if (name.empty() && result.executable.end == 0) result.executable = range;
        if (name.contains("libstdc++")) result.run_time = range;
        return 0;
      },
      &found);
  return found;
}

__attribute__((noinline)) void charge(const void* caller) {
  counter.is_open = false;  // backtrace() may allocate
  void* frames[32];
  const int depth = backtrace(frames, 32);
  int frame = 0;
  while (frame < depth && frames[frame] != caller) ++frame;
  while (frame < depth && ranges.run_time.holds(frames[frame])) ++frame;
  // A caller that the unwinder did not find counts as ours: the test errs on the strict side.
  const bool is_ours = frame >= depth || ranges.executable.holds(frames[frame]);
  ++(is_ours ? counter.ours : counter.others);
  counter.is_open = true;
}

void* allocate(std::size_t size, std::size_t alignment, const void* caller) {
  if (counter.is_open) charge(caller);
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

// Not inlined: a caller that saw free() on what `new` gave would be warned of a mismatch.
__attribute__((noinline)) void* operator new(std::size_t size) {
  return allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__, __builtin_return_address(0));
}
__attribute__((noinline)) void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace upsweep::testing {
namespace {

class Allocations : public GpuTest {
 protected:
  template <typename Call>
  static Counter count(Call call) {
    counter = {.is_open = true};
    call();
    counter.is_open = false;
    return counter;
  }
  void SetUp() override {
    GpuTest::SetUp();
    ranges = find_ranges();
    ASSERT_NE(ranges.executable.end, 0u);
    ASSERT_NE(ranges.run_time.end, 0u);
    void* frame = nullptr;
    (void)backtrace(&frame, 1);  // loads the unwinder
  }
};
INSTANTIATE_TEST_SUITE_P(, Allocations, all_profiles, profile_name);

TEST_P(Allocations, AreCountedForTheExecutableAndForLibrariesApart) {
  std::unique_ptr<int> number;
  EXPECT_EQ(count([&] { number = std::make_unique<int>(1); }).ours, 1u);
  // Through libstdc++: std::string's growth is compiled into it.
  std::string text;
  EXPECT_EQ(count([&] { text.append(1000, 'x'); }).ours, 1u);
  std::vector<std::uint32_t> words;
  EXPECT_EQ(count([&] { words.resize(100); }).ours, 1u);
  // WebGPU allocates an encoder.
  EncoderHandle encoder;
  const Counter made =
      count([&] { encoder = EncoderHandle(wgpuDeviceCreateCommandEncoder(context().device(), nullptr)); });
  EXPECT_EQ(made.ours, 0u);
  EXPECT_GT(made.others, 0u);
  EXPECT_EQ(number == nullptr ? 0 : *number, 1);
  EXPECT_EQ(text.size() + words.size(), 1100u);
}

TEST_P(Allocations, AreNoneWhenAPlanIsRecordedAgain) {
  const BufferHandle buffer = make_buffer(context(), 64);
  const Plan plan = store_plan(context().traits(), 3, 5, 16);
  const Argument argument{"output", buffer.get()};
  EXPECT_EQ(message_of(submit(context(),
                              [&](auto encoder) {
                                Status status;
                                const Counter first =
                                    count([&] { status = context().record(encoder, plan, {&argument, 1}); });
                                EXPECT_GT(first.ours, 0u) << "the first recording fills the caches";
                                const Counter again =
                                    count([&] { status = context().record(encoder, plan, {&argument, 1}); });
                                EXPECT_EQ(again.ours, 0u);
                                return status;
                              })),
            "ok");
}

struct Reduction {
  const char* name;
  ReduceShape shape;
  bool shares_buffer = false;
};

TEST_P(Allocations, AreNoneWhenAReductionIsRecordedAgain) {
  constexpr std::uint64_t items = 20000;
  const BufferHandle input = make_buffer(context(), items * 4 + 1024);
  const BufferHandle output = make_buffer(context(), items * 4);
  const std::string text =
      "fn affine(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vec2u(a.x * b.x, a.y * b.x + b.y); }";
  const Reduction reductions[] = {
      {"sum", {.item_count = Count::on_host(items), .input = ElementType::u32()}},
      {"min with init",
       {.item_count = Count::on_host(items),
        .input = ElementType::f32(),
        .combine = BinaryOperator::min(),
        .init = ConstantValue::of(1.0f)}},
      {"rows of a transform",
       {.input = ElementType::f32(),
        .transform = Transform::clamp("0.0", "123456789.0"),
        .segments = Segmentation::rows(Count::on_host(100), 200)}},
      {"custom operator",
       {.item_count = Count::on_host(items / 2),
        .input = ElementType::vec(Scalar::u32, 2),
        .combine = BinaryOperator::custom("affine", text, "vec2u(1u, 0u)")}},
      {"sum into the input's buffer", {.item_count = Count::on_host(items), .input = ElementType::u32()}, true},
  };
  for (const Reduction& reduction : reductions) {
    SCOPED_TRACE(reduction.name);
    const ReduceBuffers buffers{
        .input = input.get(),
        .output = reduction.shares_buffer ? BufferView(input.get(), items * 4 + 768) : BufferView(output.get())};
    EXPECT_EQ(message_of(submit(context(),
                                [&](auto encoder) {
                                  Status status;
                                  const auto record = [&] {
                                    status =
                                        record_reduce(context(), encoder, reduction.shape, buffers, reduce_tuning());
                                  };
                                  record();
                                  EXPECT_EQ(count(record).ours, 0u);
                                  return status;
                                })),
              "ok");
  }
}

}  // namespace
}  // namespace upsweep::testing
