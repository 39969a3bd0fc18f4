// SPDX-License-Identifier: Apache-2.0
// The shortest way: an array of the host in, a number out.
#include <cstdint>
#include <cstdio>
#include <print>
#include <vector>

#include "upsweep/upsweep.h"

int main() {
  std::vector<std::uint32_t> items(1'000'000);
  for (std::uint32_t i = 0; i < items.size(); ++i) items[i] = i + 1;

  // README begins
  const auto context = upsweep::Context::create();
  if (!context) return std::println(stderr, "{}", context.error().message), 1;
  const auto sum = upsweep::host::reduce<std::uint32_t>(**context, items);
  if (!sum) return std::println(stderr, "{}", sum.error().message), 1;
  // README ends

  // 32-bit integers wrap.
  const auto expected = static_cast<std::uint32_t>(1'000'000ull * 1'000'001 / 2);
  std::println("sum of 1 to 1000000 modulo 2^32 on {}: {}, expected {}", (*context)->traits().adapter, *sum, expected);
  return *sum == expected ? 0 : 1;
}
