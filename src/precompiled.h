// SPDX-License-Identifier: Apache-2.0
// What nearly every file includes, precompiled where UPSWEEP_PRECOMPILE is on. Files include what they need themselves:
// the preset dev builds without this.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <expected>
#include <format>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "upsweep/upsweep.h"
