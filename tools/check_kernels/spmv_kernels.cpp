// SPDX-License-Identifier: Apache-2.0
// Kernels of sparse products: every format with all values and scalars, paths and devices by pairs.
#include <format>

#include "combinations.h"
#include "kernel_cases.h"
#include "upsweep/spmv.h"

namespace upsweep {
namespace {

struct SpmvCase {
  SpmvShape shape{.matrix = {.row_count = 1000,
                             .column_count = 900,
                             .entry_count = 9000,
                             .width = 7,
                             .rest_row_count = 10,
                             .rest_entry_count = 100}};
  SpmvTuning tuning{};
  DeviceTraits traits = DeviceTraits::webgpu_minimum();
};

template <typename Value, typename Set>
Factor<SpmvCase> factor(std::initializer_list<std::pair<const char*, Value>> values, Set set) {
  Factor<SpmvCase> levels;
  for (const auto& [name, value] : values) levels.push_back({name, [=](SpmvCase& c) { set(c, value); }});
  return levels;
}

}  // namespace

void add_spmv_kernels(KernelSink& sink) {
  Factor<SpmvCase> devices;
  for (const NamedTraits& device : all_traits()) {
    devices.push_back({device.name, [device](SpmvCase& c) { c.traits = device.traits; }});
  }
  const auto formats = factor<SparseFormat>({{"csr", SparseFormat::csr},
                                             {"coo", SparseFormat::coo},
                                             {"ell", SparseFormat::ell},
                                             {"sliced ell", SparseFormat::sliced_ell},
                                             {"block ell", SparseFormat::block_ell},
                                             {"hybrid", SparseFormat::hybrid}},
                                            [](SpmvCase& c, SparseFormat value) { c.shape.matrix.format = value; });
  const auto values =
      factor<SparseValues>({{"f32", SparseValues::f32}, {"f16", SparseValues::f16}, {"ones", SparseValues::ones}},
                           [](SpmvCase& c, SparseValues value) { c.shape.matrix.values = value; });
  const auto paths = factor<SpmvPath>({{"", SpmvPath::automatic}, {"rows", SpmvPath::rows}, {"merge", SpmvPath::merge}},
                                      [](SpmvCase& c, SpmvPath value) { c.tuning.path = value; });
  const auto blocks =
      factor<std::uint32_t>({{"", 2}, {"blocks of 3", 3}, {"of 4", 4}, {"of 8", 8}, {"of 16", 16}},
                            [](SpmvCase& c, std::uint32_t value) { c.shape.matrix.block_size = value; });
  const auto lanes = factor<std::uint32_t>({{"", 1}, {"4 lanes", 4}, {"64 lanes", 64}},
                                           [](SpmvCase& c, std::uint32_t value) { c.tuning.lanes_per_row = value; });
  const auto unrolled =
      factor<std::uint32_t>({{"", 4}, {"one load", 1}, {"sixteen loads", 16}}, [](SpmvCase& c, std::uint32_t value) {
        c.tuning.loads_ahead = value;
        c.tuning.items_per_thread = value;
      });
  const auto vectors = factor<std::uint32_t>({{"", 1}, {"3 vectors", 3}},
                                             [](SpmvCase& c, std::uint32_t value) { c.shape.vector_count = value; });
  const auto scalars = factor<bool>({{"", false}, {"scalars on the device", true}},
                                    [](SpmvCase& c, bool value) { c.shape.scalars_on_device = value; });
  const auto orders = factor<bool>({{"", false}, {"reordered", true}},
                                   [](SpmvCase& c, bool value) { c.shape.matrix.is_reordered = value; });
  for_each_case<SpmvCase>(
      {formats, values, paths, blocks, lanes, unrolled, vectors, scalars, orders, devices}, choose_pairs,
      [](const SpmvCase&) { return true; },
      [&](const SpmvCase& c, const std::string& name) {
        sink.add("spmv: " + name, plan_spmv(c.shape, c.traits, c.tuning));
      });
  sink.add("spmv without entries", plan_spmv({.matrix = {.row_count = 5}}, DeviceTraits::webgpu_minimum()));
  // What the library takes by itself.
  for (const NamedTraits& device : all_traits()) {
    for (const std::uint32_t longest : {0u, 12u}) {
      SpmvCase c;
      c.shape.matrix.longest_row = longest;
      sink.add(std::format("spmv on {}", device.name), plan_spmv(c.shape, device.traits));
    }
  }
}

}  // namespace upsweep
