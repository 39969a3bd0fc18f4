// SPDX-License-Identifier: Apache-2.0
// Fixture of the ladders' tests: sizes around workgroups and tiles, subgroups of every size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "benchmarking/input.h"
#include "testing/gpu_test.h"

namespace upsweep::testing {

class LadderGpu : public GpuTest {
 protected:
  [[nodiscard]] std::uint32_t workgroup_size() const {
    return is_tiny() ? 4 : std::min(256u, context().traits().max_workgroup_size);
  }
  // In tiny tiles up to seven levels of them.
  [[nodiscard]] std::vector<std::uint32_t> sizes() const {
    const std::uint32_t w = workgroup_size();
    std::vector<std::uint32_t> all{1, 2, 3, w - 1, w, w + 1, 4 * w - 1, 4 * w, 4 * w + 1};
    if (GetParam() == Profile::full) all.push_back(w * w + 1);
    if (is_tiny()) all.push_back(5000);
    return all;
  }
  // Tiles of four items a thread, too, need two dimensions of at most 50 workgroups and three of at most 6.
  [[nodiscard]] std::uint32_t many_tiles() const { return 200 * workgroup_size() + 7; }
};

inline std::vector<std::uint32_t> words_of_input(std::uint32_t count) {
  std::vector<std::uint32_t> items(count);
  for (std::uint32_t i = 0; i < count; ++i) items[i] = bench::input_hash(i);
  return items;
}

inline std::vector<float> floats_of_input(std::uint32_t count) {
  std::vector<float> items(count);
  for (std::uint32_t i = 0; i < count; ++i) items[i] = bench::input_float(i) - 0.25f;
  return items;
}

}  // namespace upsweep::testing
