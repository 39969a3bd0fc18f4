// SPDX-License-Identifier: Apache-2.0
// Devices, tunings and types of one stretch of cases. Tiles are small, so that few items take every way and kernels
// compile quickly.
#include <algorithm>
#include <bit>

#include "fuzz.h"

namespace upsweep::fuzz {
namespace {

DeviceTraits draw_device(Random& random, const DeviceTraits& device) {
  DeviceTraits traits = device;
  switch (random.below(5)) {
    case 0: traits = device.without_subgroups(); break;
    case 1: traits = device.without_subgroups().with_default_limits(); break;
    case 2:
      traits = device.without_subgroups();
      traits.emulated_subgroup_size = 4u << random.below(5);
      traits.emulated_subgroup_seed = random.below(1000);
      break;
    default: break;
  }
  traits.test_shuffled_tiles = one_in(random, 4);
  return traits;
}

SortTuning draw_sort_tuning(Random& random) {
  SortTuning tuning;
  const SortPath paths[] = {SortPath::automatic, SortPath::three_pass, SortPath::single_pass};
  tuning.path = paths[random.below(3)];
  tuning.workgroup_size = 16u << random.below(3);
  tuning.items_per_thread = 1 + random.below(3);
  tuning.digit_bits = 2 + random.below(static_cast<std::uint32_t>(std::bit_width(tuning.workgroup_size)) - 2);
  if (one_in(random, 6)) tuning.digit_bits = 1 + random.below(8);  // planners cut what is too much
  tuning.stage_rounds = one_in(random, 2) ? 1 : tuning.items_per_thread;
  tuning.use_subgroups = !one_in(random, 4);
  tuning.look_back_late = one_in(random, 2);
  tuning.in_order = one_in(random, 3);
  tuning.poll_rounds = 1 + random.below(8);
  tuning.look_records = 1 + random.below(6);
  tuning.max_workgroups = 1 + random.below(9);
  const std::uint32_t most[] = {0, 1, tuning.workgroup_size, 2 * tuning.workgroup_size, 3 * tuning.workgroup_size + 5};
  tuning.one_workgroup_items = most[random.below(5)];
  return tuning;
}

ScanTuning draw_scan_tuning(Random& random) {
  ScanTuning tuning;
  const ScanPath paths[] = {ScanPath::automatic, ScanPath::two_pass, ScanPath::single_pass};
  tuning.path = paths[random.below(3)];
  tuning.workgroup_size = 4u << random.below(5);
  tuning.rows = 1u << random.below(3);
  tuning.use_vectors = one_in(random, 2);
  tuning.use_subgroups = !one_in(random, 4);
  tuning.max_workgroups = 1 + random.below(9);
  tuning.one_workgroup_items = random.below(100);
  tuning.in_order = one_in(random, 3);
  tuning.poll_rounds = 1 + random.below(8);
  return tuning;
}

TopKTuning draw_top_k_tuning(Random& random) {
  TopKTuning tuning;
  tuning.workgroup_size = 16u << random.below(3);
  tuning.items_per_thread = 1 + random.below(4);
  tuning.digit_bits = 1 + random.below(11);
  tuning.max_workgroups = 1 + random.below(6);
  const std::uint32_t candidates[] = {0, 300, ~0u};
  tuning.candidate_items = candidates[random.below(3)];
  tuning.candidate_share = 1 + random.below(6);
  tuning.sort_all_items = one_in(random, 2) ? 0 : random.below(500);
  tuning.compaction = draw_scan_tuning(random);
  tuning.sort = draw_sort_tuning(random);
  return tuning;
}

HistogramTuning draw_histogram_tuning(Random& random) {
  HistogramTuning tuning;
  const HistogramPath paths[] = {HistogramPath::automatic, HistogramPath::registers, HistogramPath::workgroup,
                                 HistogramPath::cache};
  const std::uint32_t sizes[] = {1, 4, 16, 24, 64};
  const std::uint32_t windows[] = {5, 24, 300, 1u << 20};
  tuning.path = paths[random.below(4)];
  tuning.workgroup_size = sizes[random.below(5)];
  tuning.units_per_thread = 1 + random.below(2);
  tuning.use_vectors = one_in(random, 2);
  tuning.register_bins = random.below(17);
  tuning.copies = 1 + random.below(4);
  tuning.window_bins = windows[random.below(4)];
  tuning.max_windows = 1 + random.below(4);
  tuning.cache_slots = 1u << random.below(8);
  tuning.max_workgroups = 1 + random.below(9);
  tuning.one_workgroup_samples = random.below(500);
  return tuning;
}

}  // namespace

Palette draw_palette(Random& random, const DeviceTraits& device) {
  Palette palette;
  palette.descending = one_in(random, 2);
  palette.devices.push_back(draw_device(random, device));
  palette.sorts.emplace_back(draw_sort_tuning(random));
  palette.top_ks.emplace_back(draw_top_k_tuning(random));
  palette.keys.push_back(static_cast<KeyKind>(random.below(7)));
  for (int k = 0; k < 2; ++k) {
    palette.histograms.emplace_back(draw_histogram_tuning(random));
    palette.samples.push_back(static_cast<SampleType>(random.below(6)));
  }
  // SwiftShader takes minutes, and gigabytes, to compile what is written out for many items a thread.
  if (device.adapter.contains("SwiftShader")) {
    for (auto& tuning : palette.sorts) tuning->stage_rounds = tuning->items_per_thread = 1;
    for (auto& tuning : palette.histograms) {
      tuning->units_per_thread = 1;
      tuning->use_vectors = false;
    }
  }
  // The library's own choice now and then: its kernels are larger.
  if (one_in(random, 12)) palette.sorts.back().reset();
  if (one_in(random, 12)) palette.top_ks.back().reset();
  if (one_in(random, 6)) palette.histograms.back().reset();
  const std::vector<ElementType> values{
      ElementType::u32(),
      ElementType::f16(),
      ElementType::f32(),
      ElementType::u64(),
      ElementType::vec(Scalar::f32, 2),
      ElementType::vec(Scalar::i32, 4),
      *ElementType::structure("Triple", "struct Triple {\n  a: u32,\n  b: f32,\n  c: i32,\n}", 12, 12),
      *ElementType::structure("Six", "struct Six {\n  words: array<u32, 6>,\n}", 24, 24),
  };
  for (int k = 0; k < 2; ++k) palette.values.push_back(pick(random, values));
  return palette;
}

}  // namespace upsweep::fuzz
