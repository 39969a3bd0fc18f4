// SPDX-License-Identifier: Apache-2.0
// Kernels of conversions between sparse formats. None of their own depends on the device.
#include <format>

#include "kernel_cases.h"
#include "upsweep/sparse_convert.h"

namespace upsweep {
namespace {

constexpr std::uint32_t all_block_sizes = 1u << 2 | 1u << 3 | 1u << 4 | 1u << 8 | 1u << 16;

}  // namespace

void add_sparse_convert_kernels(KernelSink& sink) {
  const DeviceTraits least = DeviceTraits::webgpu_minimum();
  for (const SparseValues values : {SparseValues::f32, SparseValues::f16, SparseValues::ones}) {
    for (const std::uint32_t columns : {900u, 100'000u}) {
      const SparseShape csr{.values = values, .row_count = 100'000, .column_count = columns, .entry_count = 9000};
      SparseShape coo = csr;
      coo.format = SparseFormat::coo;
      const std::string name = to_string(csr);
      for (const bool on_device : {false, true}) {
        for (const bool keeps : {false, true}) {
          sink.add(std::format("coo_to_csr: {}{}{}", name, on_device ? ", counted on the device" : "",
                               keeps ? ", duplicates kept" : ""),
                   plan_coo_to_csr({.coo = coo, .count_on_device = on_device, .keep_duplicates = keeps}, least));
        }
      }
      sink.add("csr_transpose: " + name, plan_csr_transpose(csr, least));
    }
    const SparseShape csr{.values = values, .row_count = 1000, .column_count = 900, .entry_count = 9000};
    SparseShape result = csr;
    result.width = 9;
    result.rest_row_count = 10;
    result.rest_entry_count = 100;
    for (const SparseFormat format :
         {SparseFormat::ell, SparseFormat::hybrid, SparseFormat::sliced_ell, SparseFormat::block_ell}) {
      result.format = format;
      result.values = format == SparseFormat::block_ell && values == SparseValues::ones ? SparseValues::f32 : values;
      for (const bool is_reordered : {false, true}) {
        result.is_reordered = is_reordered;
        sink.add(std::format("csr_conversion: {} to {}", to_string(csr), to_string(result)),
                 plan_csr_conversion({.csr = csr, .result = result, .most_growth = 9}, least));
      }
    }
  }
  const SparseShape csr{.row_count = 1000, .column_count = 900, .entry_count = 9000};
  for (const std::uint32_t window_rows : {0u, 64u, 1u << 20}) {
    const std::string name = std::format("windows of {}", window_rows);
    sink.add("slice_rows: " + name, plan_slice_rows({.csr = csr, .window_rows = window_rows}, least));
    sink.add("csr_statistics: " + name,
             plan_csr_statistics({.csr = csr, .window_rows = window_rows, .block_sizes = all_block_sizes}, least));
  }
  sink.add("csr_statistics: lengths", plan_csr_statistics({.csr = csr}, least));
  CsrConversion no_rest{.csr = csr, .result = csr, .most_growth = 9};
  no_rest.result.format = SparseFormat::hybrid;
  sink.add("csr_conversion: no rest", plan_csr_conversion(no_rest, least));
  sink.expect_refused("csr_conversion: to csr", plan_csr_conversion({.csr = csr, .result = csr}, least));
}

}  // namespace upsweep
