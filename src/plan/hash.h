// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace upsweep {

// FNV-1a over 8-byte words with a final mix: names texts in caches, where the full text is compared as well.
inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0xcbf29ce484222325ull) {
  constexpr std::uint64_t prime = 0x100000001b3ull;
  std::uint64_t hash = seed ^ bytes.size();
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    hash = (hash ^ word) * prime;
    hash ^= hash >> 29;
    bytes.remove_prefix(8);
  }
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  hash ^= hash >> 32;
  return hash * 0x9e3779b97f4a7c15ull;
}

inline std::uint64_t hash_number(std::uint64_t value, std::uint64_t seed) {
  const std::uint64_t hash = (seed ^ value) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 31);
}

}  // namespace upsweep
