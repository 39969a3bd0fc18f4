// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/sort_ladder.h"

namespace upsweep::bench {

std::string_view step_name(SortStep step) {
  switch (step) {
    case SortStep::digits_of_4_bits: return "digits_of_4_bits";
    case SortStep::digits_of_8_bits: return "digits_of_8_bits";
    case SortStep::ballots: return "ballots";
    case SortStep::one_sweep: return "one_sweep";
  }
  return "?";
}

std::string_view step_title(SortStep step) {
  switch (step) {
    case SortStep::digits_of_4_bits: return "4-bit digits, ranks in workgroup memory";
    case SortStep::digits_of_8_bits: return "8-bit digits, ranks in workgroup memory";
    case SortStep::ballots: return "ranks by ballots of subgroups";
    case SortStep::one_sweep: return "one pass a digit, with look-back";
  }
  return "?";
}

SortTuning sort_step_tuning(SortStep step, const SortShape& shape, const DeviceTraits& traits) {
  SortTuning tuning = select_sort_tuning(shape, traits);
  tuning.digit_bits = step == SortStep::digits_of_4_bits ? 4 : 8;
  tuning.path = step == SortStep::one_sweep ? SortPath::single_pass : SortPath::three_pass;
  if (step == SortStep::digits_of_4_bits || step == SortStep::digits_of_8_bits) {
    tuning = {.path = tuning.path,
              .digit_bits = tuning.digit_bits,
              .use_subgroups = false,
              .max_workgroups = tuning.max_workgroups,
              .one_workgroup_items = tuning.one_workgroup_items};
  }
  return tuning;
}

}  // namespace upsweep::bench
