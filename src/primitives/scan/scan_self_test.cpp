// SPDX-License-Identifier: Apache-2.0
// The self-test of look-back: what a device gets wrong must be found before a caller meets it. Every answer is checked
// in full; sizes are those at which faults of drivers were seen: one, two, three, forty and seventy tiles.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "exec/context_impl.h"
#include "exec/self_test.h"
#include "upsweep/scan.h"
#include "upsweep/select.h"

namespace upsweep {
namespace {

constexpr std::uint32_t tile_items = 256 * 8 * 4;
constexpr std::uint32_t most_tiles = 70;

ScanTuning tested_tuning(const DeviceTraits& traits) {
  ScanTuning tuning = select_scan_tuning(4, std::uint64_t{1} << 24, traits);
  tuning.path = ScanPath::single_pass;
  return tuning;
}

ScanShape scan_of(std::uint32_t count) { return {.item_count = Count::on_host(count), .input = ElementType::u32()}; }

SelectShape select_of(std::uint32_t count) {
  return {.item_count = Count::on_host(count), .input = ElementType::u32(), .predicate = Predicate::of("x % 3u != 1u")};
}

struct Buffers {
  BufferHandle input;
  BufferHandle output;
  BufferHandle small;
};

class SelfTest {
 public:
  SelfTest(Context& context, Buffers buffers, std::vector<std::uint32_t> items)
      : context_(context), buffers_(std::move(buffers)), items_(std::move(items)) {}

  // Right, wrong, or an error of the device.
  Result<bool> run() {
    for (const std::uint32_t hidden : {0u, 3u}) {
      DeviceTraits traits = context_.traits();
      traits.test_hidden_chunks = hidden;
      context_.override_traits(traits);
      for (const std::uint32_t tiles : {1u, 2u, 3u, 40u, most_tiles}) {
        // With hidden tiles only the longest: it is the fallback that is tried.
        if (hidden != 0 && tiles != most_tiles) continue;
        for (const bool selects : {false, true}) {
          const auto right = selects ? try_select(tiles) : try_scan(tiles);
          if (!right || !*right) return right;
        }
      }
    }
    return true;
  }

 private:
  [[nodiscard]] ScanTuning tuning() const { return tested_tuning(context_.traits()); }
  [[nodiscard]] std::uint32_t count_of(std::uint32_t tiles) const {
    return std::min<std::uint32_t>(tiles * tile_items - 5, static_cast<std::uint32_t>(items_.size()));
  }

  Result<bool> try_scan(std::uint32_t tiles) {
    const std::uint32_t count = count_of(tiles);
    const ScanShape shape = scan_of(count);
    const auto words = words_after(
        context_,
        [&](WGPUCommandEncoder encoder) {
          return record_scan(context_, encoder, shape, {.input = buffers_.input.get(), .output = buffers_.output.get()},
                             tuning());
        },
        buffers_.output.get(), count);
    if (!words) return std::unexpected(words.error());
    std::vector<std::uint32_t> wanted(count);
    std::inclusive_scan(items_.begin(), items_.begin() + count, wanted.begin());
    return *words == wanted;
  }

  Result<bool> try_select(std::uint32_t tiles) {
    const std::uint32_t count = count_of(tiles);
    const SelectShape shape = select_of(count);
    std::vector<std::uint32_t> wanted;
    std::copy_if(items_.begin(), items_.begin() + count, std::back_inserter(wanted),
                 [](std::uint32_t x) { return x % 3 != 1; });
    const auto words = words_after(
        context_,
        [&](WGPUCommandEncoder encoder) {
          return record_select(
              context_, encoder, shape,
              {.input = buffers_.input.get(), .output = buffers_.output.get(), .count = buffers_.small.get()},
              tuning());
        },
        buffers_.output.get(), static_cast<std::uint32_t>(wanted.size()));
    if (!words) return std::unexpected(words.error());
    const auto bytes = context_.read(buffers_.small.get(), 4);
    if (!bytes) return std::unexpected(bytes.error());
    std::uint32_t passed = 0;
    std::memcpy(&passed, bytes->data(), 4);
    return passed == wanted.size() && *words == wanted;
  }

  Context& context_;
  Buffers buffers_;
  std::vector<std::uint32_t> items_;
};

}  // namespace

void begin_self_test(Context& context) {
  constexpr std::uint32_t count = most_tiles * tile_items;
  const ScanTuning tuning = tested_tuning(context.traits());
  for (const auto& plan :
       {plan_scan(scan_of(count), context.traits(), tuning), plan_select(select_of(count), context.traits(), tuning)}) {
    if (plan) context.prepare_async(*plan, [](const Status&) {});
  }
}

Status run_self_test(Context& context) {
  Context::Impl& impl = context.impl();
  const DeviceTraits traits = impl.traits;
  const bool debug = std::exchange(impl.options.debug, false);
  std::vector<std::uint32_t> items(std::size_t{most_tiles} * tile_items);
  std::uint32_t state = 1;
  for (std::uint32_t& item : items) {
    state = state * 1664525u + 1013904223u;
    item = state >> 7;
  }
  Buffers buffers;
  for (const auto& [buffer, bytes] : {std::pair{&buffers.input, items.size() * 4},
                                      {&buffers.output, items.size() * 4},
                                      {&buffers.small, std::size_t{16}}}) {
    auto raw = context.create_buffer(bytes, "self-test");
    if (!raw) return std::unexpected(raw.error());
    *buffer = BufferHandle(*raw);
  }
  if (const Status ok = context.write(buffers.input.get(), std::as_bytes(std::span(items))); !ok) return ok;
  const auto right = SelfTest(context, std::move(buffers), std::move(items)).run();
  context.release_bindings();
  context.override_traits(traits);
  impl.options.debug = debug;
  // A device that refuses these kernels can do without them: two passes serve.
  impl.traits.look_back = right.has_value() && *right;
  impl.probe.self_test_ran = true;
  impl.probe.look_back = impl.traits.look_back;
  if (!right) impl.probe.self_test_error = right.error().message;
  return {};
}

}  // namespace upsweep
