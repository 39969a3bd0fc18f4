// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace upsweep {

/// A count that the caller knows to fit, as kernels take it.
inline std::uint32_t u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace upsweep
