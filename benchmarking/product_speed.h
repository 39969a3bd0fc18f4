// SPDX-License-Identifier: Apache-2.0
// How fast a sparse matrix of a user's multiplies.
#pragma once

#include <cstdint>

#include "upsweep/context.h"
#include "upsweep/sparse_matrix.h"

namespace upsweep::bench {

struct ProductSpeed {
  double seconds = 0;                // of one product, back to back; the median. 0: it could not be timed
  double bytes_per_second = 0;       // that any implementation of the format must move
  double copy_bytes_per_second = 0;  // of the device's memory, in the same run
};

Result<ProductSpeed> measure_product(Context& context, const SparseMatrix& matrix, std::uint32_t samples);

}  // namespace upsweep::bench
