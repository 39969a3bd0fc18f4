// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "benchmarking/expected.h"

namespace upsweep::bench {
Result<Verdict> check_words(Context& context, const ExpectedWords& expected) {
  WordSource source = expected.source;
  Verdict verdict{.correct = true};
  for (std::uint64_t first = 0; first < expected.word_count; first += chunk_words) {
    const std::uint64_t count = std::min<std::uint64_t>(chunk_words, expected.word_count - first);
    const auto bytes = context.read({expected.view.buffer, expected.view.offset_bytes + first * 4}, count * 4);
    if (!bytes) return std::unexpected(bytes.error());
    std::vector<std::uint32_t> words(count);
    std::memcpy(words.data(), bytes->data(), bytes->size());
    verdict = both(verdict, check_next(words, source, expected.is_float));
  }
  return verdict;
}

}  // namespace upsweep::bench
