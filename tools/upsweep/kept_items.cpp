// SPDX-License-Identifier: Apache-2.0
#include "kept_items.h"

#include <cstring>
#include <vector>

namespace upsweep::cli {
namespace {

// Ascending indices, so that the pages of a mapped file are visited once, in order.
Outcome append_at(std::span<const std::byte> words, const npy::Array& array, ArrayFile& file) {
  std::vector<std::uint32_t> indices(words.size() / sizeof(std::uint32_t));
  std::memcpy(indices.data(), words.data(), words.size());
  const std::size_t item_bytes = npy::item_size(array.dtype());
  std::vector<std::byte> bytes(indices.size() * item_bytes);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::span item = std::span(bytes).subspan(i * item_bytes, item_bytes);
    if (const auto ok = array.read(indices[i], 1, item); !ok) return refuse(ok.error());
  }
  return file.append(bytes);
}

}  // namespace

Outcome write_kept_items(ArrayRun& run, const Items& items, std::string_view values, std::string_view indices,
                         std::uint64_t count, ArrayFile& file) {
  const npy::Array& array = items.array();
  if (const auto ok = file.begin_like(array, std::array{count}); !ok) return ok;
  if (needs_indices(items)) {
    return run.read(indices, count * sizeof(std::uint32_t),
                    [&](std::span<const std::byte> words) { return append_at(words, array, file); });
  }
  return run.read(values, count * items.type().size_bytes,
                  [&](std::span<const std::byte> bytes) { return file.append(bytes); });
}

Outcome write_indices(ArrayRun& run, std::string_view argument, std::uint64_t count, ArrayFile& file) {
  if (const auto ok = file.begin(npy::Dtype::i8, std::array{count}); !ok) return ok;
  return run.read(argument, count * sizeof(std::uint32_t),
                  [&](std::span<const std::byte> words) { return file.append_indices(words); });
}

}  // namespace upsweep::cli
