// SPDX-License-Identifier: Apache-2.0
// The arguments of plans around a product: the buffers of its matrix, by name, and others.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "upsweep/context.h"
#include "upsweep/sparse.h"

namespace upsweep {

template <std::size_t N>
std::array<Argument, 10 + N> with_matrix(const SparseBuffers& matrix, const std::array<Argument, N>& others) {
  std::array<Argument, 10 + N> all{Argument{"row_offsets", matrix.row_offsets},
                                   Argument{"rows", matrix.rows},
                                   Argument{"slice_offsets", matrix.slice_offsets},
                                   Argument{"row_order", matrix.row_order},
                                   Argument{"columns", matrix.columns},
                                   Argument{"values", matrix.values},
                                   Argument{"rest_rows", matrix.rest_rows},
                                   Argument{"rest_offsets", matrix.rest_offsets},
                                   Argument{"rest_columns", matrix.rest_columns},
                                   Argument{"rest_values", matrix.rest_values}};
  std::ranges::copy(others, all.begin() + 10);
  return all;
}

}  // namespace upsweep
