// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/sorted_bench.h"

#include <algorithm>
#include <cstring>

#include "benchmarking/chunks.h"

namespace upsweep::bench {
namespace {

template <typename Key, typename InputKey>
Result<Verdict> check_sorted(Context& context, const BufferView& keys, const BufferView* values,
                             std::uint64_t item_count, std::uint64_t segment_items, InputKey input_key) {
  SortedCheck<Key, InputKey> check(item_count, segment_items, input_key);
  for (std::uint64_t first = 0; first < item_count; first += chunk_items) {
    const std::uint64_t count = std::min(chunk_items, item_count - first);
    const auto read = [&]<typename T>(const BufferView& view, std::vector<T>& items) -> Status {
      const auto bytes = context.read(BufferView(view.buffer, view.offset_bytes + first * sizeof(T), count * sizeof(T)),
                                      count * sizeof(T));
      if (!bytes) return std::unexpected(bytes.error());
      items.resize(count);
      std::memcpy(items.data(), bytes->data(), count * sizeof(T));
      return {};
    };
    std::vector<Key> key_chunk;
    std::vector<std::uint32_t> value_chunk;
    if (const Status ok = read(keys, key_chunk); !ok) return std::unexpected(ok.error());
    if (values != nullptr) {
      if (const Status ok = read(*values, value_chunk); !ok) return std::unexpected(ok.error());
    }
    check.take(key_chunk, value_chunk);
  }
  return Verdict{.correct = check.is_right()};
}

}  // namespace

Status SortedBench::prepare(Session& session, std::uint64_t most_items) {
  if (const Status ok = session.fill_input(*type().scalar); !ok) return ok;
  const std::uint64_t most = std::max<std::uint64_t>(most_items, 1);
  const auto keys = session.buffer("output", words_of(most));
  if (!keys) return std::unexpected(keys.error());
  sorted_keys_ = *keys;
  if (!has_values_) return {};
  const auto values = session.buffer("values", most);
  if (!values) return std::unexpected(values.error());
  values_ = *values;
  const auto sorted = session.buffer("sorted values", most);
  if (!sorted) return std::unexpected(sorted.error());
  sorted_values_ = *sorted;
  return write_words(session.context(), values_, most, [](std::uint32_t i) { return i; });
}

Result<Expectation> SortedBench::expect(Session& session, std::uint64_t item_count) {
  const std::uint64_t key_words = words_of(item_count);
  Expectation expected{.outputs = {BufferView(sorted_keys_.buffer, 0, key_words * 4)},
                       .check = [&session, item_count, this] { return check(session.context(), item_count); },
                       .bytes_moved = 8 * (key_words + (has_values_ ? item_count : 0))};
  if (has_values_) expected.outputs.emplace_back(sorted_values_.buffer, 0, item_count * 4);
  return expected;
}

Result<Verdict> SortedBench::check(Context& context, std::uint64_t item_count) const {
  const BufferView* values = has_values_ ? &sorted_values_ : nullptr;
  const Scalar scalar = *type().scalar;
  if (scalar == Scalar::u64) {
    return check_sorted<std::uint64_t>(context, sorted_keys_, values, item_count, segment_items_, input_u64);
  }
  // Numbers in [0, 1) compare as their bits do.
  return check_sorted<std::uint32_t>(context, sorted_keys_, values, item_count, segment_items_,
                                     [scalar](std::uint32_t i) { return input_bits(i, scalar); });
}

}  // namespace upsweep::bench
