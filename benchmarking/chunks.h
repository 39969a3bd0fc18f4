// SPDX-License-Identifier: Apache-2.0
// Large arrays go to and from the device in chunks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "upsweep/context.h"

namespace upsweep::bench {

constexpr std::uint64_t chunk_items = 1ull << 22;

// Word i of the view becomes word_of(i).
Status write_words(Context& context, const BufferView& view, std::uint64_t count, const auto& word_of) {
  std::vector<std::uint32_t> words;
  for (std::uint64_t first = 0; first < count; first += chunk_items) {
    words.resize(std::min(chunk_items, count - first));
    for (std::uint64_t i = 0; i < words.size(); ++i) words[i] = word_of(static_cast<std::uint32_t>(first + i));
    const BufferView part(view.buffer, view.offset_bytes + first * 4, words.size() * 4);
    if (const Status ok = context.write(part, std::as_bytes(std::span(words))); !ok) return ok;
  }
  return {};
}

}  // namespace upsweep::bench
