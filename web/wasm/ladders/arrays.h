// SPDX-License-Identifier: Apache-2.0
// What ladders over one array have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ladder.h"

namespace upsweep::web {

LadderStep cpu_step(std::string title);
LadderStep library_step();

// A ladder's own steps, as the list in its header has them.
template <typename Steps>
void add_steps(std::vector<LadderStep>& all, const Steps& steps) {
  for (const auto step : steps) {
    all.push_back({.id = std::string(step_name(step)), .title = std::string(step_title(step))});
  }
}

// A page on a GPU runs single-pass kernels only where the self-test did; on a CPU adapter it does not run.
bool has_look_back(const DeviceTraits& traits);
std::unexpected<Error> no_look_back();

// The u32 items that bench_fill.wgsl makes on the device.
std::vector<std::uint32_t> hashed_items(std::uint64_t item_count);

// A plan with the arguments `input`, so many bytes of which `fill` makes, and `output`. Buffers are whole units of 16
// bytes, as the steps of ladders want them.
Result<LadderWork> array_work(Result<Plan> plan, Result<Plan> fill, std::uint64_t input_bytes,
                              std::uint64_t output_bytes);

}  // namespace upsweep::web
