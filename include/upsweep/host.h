// SPDX-License-Identifier: Apache-2.0
// A thin front for programs that have arrays, not buffers: upload, run, read back. Every call waits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "upsweep/context.h"
#include "upsweep/histogram.h"
#include "upsweep/is_sorted.h"
#include "upsweep/merge.h"
#include "upsweep/merge_sort.h"
#include "upsweep/reduce.h"
#include "upsweep/runs.h"
#include "upsweep/scan.h"
#include "upsweep/search.h"
#include "upsweep/select.h"
#include "upsweep/sort.h"
#include "upsweep/top_k.h"

namespace upsweep::host {

/// The C++ numbers that have an element type: std::uint32_t, std::int32_t, float, std::uint64_t, std::int64_t.
template <typename T>
concept Number = std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, float> ||
                 std::is_same_v<T, std::uint64_t> || std::is_same_v<T, std::int64_t>;

/// The element type of a C++ number.
template <typename T>
[[nodiscard]] ElementType element_of() {
  static_assert(Number<T>, "no built-in element type for this C++ type");
  if constexpr (std::is_same_v<T, std::uint32_t>) return ElementType::u32();
  if constexpr (std::is_same_v<T, std::int32_t>) return ElementType::i32();
  if constexpr (std::is_same_v<T, float>) return ElementType::f32();
  if constexpr (std::is_same_v<T, std::uint64_t>) return ElementType::u64();
  if constexpr (std::is_same_v<T, std::int64_t>) return ElementType::i64();
}

// Functions over packed bytes of items, for shapes of any kind. Counts must be known on the host, and inputs must have
// as many items as the shape says.

/// Runs a reduction; the results packed, one per segment. `second_input` is empty unless the shape has one. Segments by
/// offsets are not offered here.
[[nodiscard]] Result<std::vector<std::byte>> reduce_bytes(Context& context, const ReduceShape& shape,
                                                          std::span<const std::byte> input,
                                                          std::span<const std::byte> second_input = {});

struct ScanBytes {
  std::vector<std::byte> output;
  std::vector<std::byte> total;  ///< Where the shape writes it: one value, or one a row.
};
/// Runs a scan, in place or not. `boundaries` are the head flags (flag_bytes()) or the keys of a shape that has them.
[[nodiscard]] Result<ScanBytes> scan_bytes(Context& context, const ScanShape& shape, std::span<const std::byte> input,
                                           std::span<const std::byte> boundaries = {});

/// What a selection or a removal of duplicates keeps; empty where the shape does not write it.
struct KeptBytes {
  std::vector<std::byte> items;
  std::vector<std::uint32_t> indices;
  std::uint32_t count = 0;
};
/// `flags` (flag_bytes()) are those of a predicate that has them. `dispatch_threads` is not offered here.
[[nodiscard]] Result<KeptBytes> select_bytes(Context& context, const SelectShape& shape,
                                             std::span<const std::byte> input, std::span<const std::byte> flags = {});
[[nodiscard]] Result<KeptBytes> unique_bytes(Context& context, const UniqueShape& shape,
                                             std::span<const std::byte> input);

/// Runs of equal neighbours; empty where the shape does not write it.
struct RunBytes {
  std::vector<std::byte> values;
  std::vector<std::uint32_t> lengths;
  std::vector<std::uint32_t> offsets;
  std::uint32_t count = 0;
};
[[nodiscard]] Result<RunBytes> run_length_bytes(Context& context, const RunLengthShape& shape,
                                                std::span<const std::byte> input);

struct KeyedBytes {
  std::vector<std::byte> keys;    ///< One a run.
  std::vector<std::byte> output;  ///< The fold of its values.
};
[[nodiscard]] Result<KeyedBytes> reduce_by_key_bytes(Context& context, const ReduceByKeyShape& shape,
                                                     std::span<const std::byte> keys, std::span<const std::byte> input);

/// `bytes` as items; an error if they are no whole number of T.
template <typename T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] Result<std::vector<T>> items_of(std::span<const std::byte> bytes) {
  if (bytes.size() % sizeof(T) != 0) {
    return fail(ErrorKind::invalid_request, "The operator's result has another size than the type asked for.");
  }
  std::vector<T> items(bytes.size() / sizeof(T));
  if (!items.empty()) std::memcpy(items.data(), bytes.data(), bytes.size());
  return items;
}

// Functions for C++ numbers.

/// Folds the items with a well-known operator. The result is a T (std::uint32_t for argmin, argmax, any and all: read
/// it with reduce<T, std::uint32_t>).
template <Number T, Number R = T>
[[nodiscard]] Result<R> reduce(Context& context, std::span<const T> items,
                               const BinaryOperator& combine = BinaryOperator::sum()) {
  const ReduceShape shape{.item_count = Count::on_host(items.size()), .input = element_of<T>(), .combine = combine};
  auto bytes = reduce_bytes(context, shape, std::as_bytes(items));
  if (!bytes) return std::unexpected(bytes.error());
  if (bytes->size() != sizeof(R)) {
    return fail(ErrorKind::invalid_request, "The operator's result has another size than the type asked for.");
  }
  R result;
  std::memcpy(&result, bytes->data(), sizeof(R));
  return result;
}

/// Prefix folds: result i folds items 0 to i (inclusive), or 0 to i-1 (exclusive; the first is the operator's
/// identity). As many results as items, of type T (std::uint32_t for argmin, argmax, any and all: scan<T,
/// std::uint32_t>). Integers wrap. For `init`, rows, segments, totals and the other direction use scan_bytes().
template <Number T, Number R = T>
[[nodiscard]] Result<std::vector<R>> scan(Context& context, std::span<const T> items,
                                          const BinaryOperator& combine = BinaryOperator::sum(),
                                          ScanKind kind = ScanKind::inclusive) {
  const ScanShape shape{
      .item_count = Count::on_host(items.size()), .input = element_of<T>(), .combine = combine, .kind = kind};
  auto bytes = scan_bytes(context, shape, std::as_bytes(items));
  if (!bytes) return std::unexpected(bytes.error());
  if (bytes->output.size() != items.size() * sizeof(R)) {
    return fail(ErrorKind::invalid_request, "The operator's result has another size than the type asked for.");
  }
  return items_of<R>(bytes->output);
}

/// The items that pass, in their order, with their bits: select<float>(context, items, Predicate::of("x > 0.5")).
/// 64-bit items are a vec2u, low word first, in the predicate.
template <Number T>
[[nodiscard]] Result<std::vector<T>> select(Context& context, std::span<const T> items, const Predicate& predicate) {
  const SelectShape shape{.item_count = Count::on_host(items.size()), .input = element_of<T>(), .predicate = predicate};
  auto kept = select_bytes(context, shape, std::as_bytes(items));
  if (!kept) return std::unexpected(kept.error());
  return items_of<T>(kept->items);
}

/// The first item of every run of equal neighbours, with its bits. NaN equals NaN, -0 equals +0. Sort first for all
/// distinct values.
template <Number T>
[[nodiscard]] Result<std::vector<T>> unique(Context& context, std::span<const T> items) {
  const UniqueShape shape{.item_count = Count::on_host(items.size()), .input = element_of<T>()};
  auto kept = unique_bytes(context, shape, std::as_bytes(items));
  if (!kept) return std::unexpected(kept.error());
  return items_of<T>(kept->items);
}

/// One entry for every run of equal neighbours.
template <Number T>
struct Runs {
  std::vector<T> values;  ///< Its first item, with its bits.
  std::vector<std::uint32_t> lengths;
};
/// Run-length encoding; equality as for unique(). For offsets, or without runs of one item, use run_length_bytes().
template <Number T>
[[nodiscard]] Result<Runs<T>> run_length(Context& context, std::span<const T> items) {
  const RunLengthShape shape{.item_count = Count::on_host(items.size()), .input = element_of<T>()};
  auto runs = run_length_bytes(context, shape, std::as_bytes(items));
  if (!runs) return std::unexpected(runs.error());
  auto values = items_of<T>(runs->values);
  if (!values) return std::unexpected(values.error());
  return Runs<T>{std::move(*values), std::move(runs->lengths)};
}

/// One entry for every run of equal keys.
template <Number K, Number R>
struct KeyedResults {
  std::vector<K> keys;  ///< The first key of the run, with its bits.
  std::vector<R> results;
};
/// Folds the values of every run of equal neighbouring keys; equality as for unique(). As many values as keys. Results
/// are of type T (std::uint32_t for argmin, argmax, any and all: reduce_by_key<K, T, std::uint32_t>).
template <Number K, Number T, Number R = T>
[[nodiscard]] Result<KeyedResults<K, R>> reduce_by_key(Context& context, std::span<const K> keys,
                                                       std::span<const T> items,
                                                       const BinaryOperator& combine = BinaryOperator::sum()) {
  const ReduceByKeyShape shape{
      .item_count = Count::on_host(keys.size()), .key = element_of<K>(), .input = element_of<T>(), .combine = combine};
  auto bytes = reduce_by_key_bytes(context, shape, std::as_bytes(keys), std::as_bytes(items));
  if (!bytes) return std::unexpected(bytes.error());
  auto found = items_of<K>(bytes->keys);
  auto results = items_of<R>(bytes->output);
  if (!found) return std::unexpected(found.error());
  if (!results) return std::unexpected(results.error());
  if (results->size() != found->size()) {
    return fail(ErrorKind::invalid_request, "The operator's result has another size than the type asked for.");
  }
  return KeyedResults<K, R>{std::move(*found), std::move(*results)};
}

/// Runs a histogram; the bins packed, u32 or f32 as the shape says. `weights` are empty unless the shape has some.
/// Neither edges in a buffer nor accumulation are offered here.
[[nodiscard]] Result<std::vector<std::byte>> histogram_bytes(Context& context, const HistogramShape& shape,
                                                             std::span<const std::byte> input,
                                                             std::span<const std::byte> weights = {});

/// The C++ numbers that can be counted in bins: std::uint8_t, std::uint16_t, std::uint32_t, std::int32_t, float.
template <typename T>
concept SampleNumber = std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t> ||
                       std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, float>;

/// The sample type of a C++ number.
template <SampleNumber T>
[[nodiscard]] constexpr SampleType sample_of() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return SampleType::u8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return SampleType::u16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return SampleType::u32;
  if constexpr (std::is_same_v<T, std::int32_t>) return SampleType::i32;
  if constexpr (std::is_same_v<T, float>) return SampleType::f32;
}

/// How many items lie in each bin: histogram<float>(context, items, HistogramBins::even(10, 0, 1)) is
/// numpy.histogram(items, 10, (0, 1)). For weights and channels use histogram_bytes().
template <SampleNumber T>
[[nodiscard]] Result<std::vector<std::uint32_t>> histogram(Context& context, std::span<const T> items,
                                                           const HistogramBins& bins) {
  const HistogramShape shape{.item_count = Count::on_host(items.size()), .sample = sample_of<T>(), .bins = bins};
  const auto bytes = histogram_bytes(context, shape, std::as_bytes(items));
  if (!bytes) return std::unexpected(bytes.error());
  return items_of<std::uint32_t>(*bytes);
}

/// What a sort gives; empty where the shape does not write it.
struct SortedBytes {
  std::vector<std::byte> keys;
  std::vector<std::byte> values;
  std::vector<std::uint32_t> indices;
};
/// Runs a sort, in place or not. `values` are empty unless the shape has some. With segments, segment s is
/// [offsets[s], offsets[s + 1]): one offset more than segments; what no segment holds is zero, or as it was in place.
[[nodiscard]] Result<SortedBytes> sort_bytes(Context& context, const SortShape& shape, std::span<const std::byte> keys,
                                             std::span<const std::byte> values = {},
                                             std::span<const std::uint32_t> offsets = {});

/// Whether offsets of segments ascend and none is greater than the number of items; an error names the first that does
/// not.
[[nodiscard]] Status check_offsets(std::span<const std::uint32_t> offsets, std::uint64_t item_count);

/// An element type for values that a sort only moves: of 2 bytes, or of a multiple of 4. Other sizes are an error.
[[nodiscard]] Result<ElementType> moved_type(std::size_t size_bytes);

/// The C++ numbers that can be sorted: those that have an element type, and double.
template <typename T>
concept SortKey = Number<T> || std::is_same_v<T, double>;

/// Values that a sort can move: of any type without pointers into itself, of 2 bytes or of a multiple of 4.
template <typename T>
concept Movable = std::is_trivially_copyable_v<T> && (sizeof(T) == 2 || sizeof(T) % 4 == 0);

enum class Order : std::uint8_t { ascending, descending };

/// A sort of so many C++ numbers.
template <SortKey K>
[[nodiscard]] SortShape sort_shape(std::size_t count, Order order) {
  SortShape shape{.item_count = Count::on_host(count), .descending = order == Order::descending};
  if constexpr (std::is_same_v<K, double>) {
    shape.key = ElementType::u64();
    shape.key_is_f64 = true;
  } else {
    shape.key = element_of<K>();
  }
  return shape;
}

/// The items in order, with their bits, as std::stable_sort: NaN is the greatest, -0 equals +0, equal items keep their
/// order, in descending sorts, too. For bit ranges and f16 use sort_bytes().
template <SortKey K>
[[nodiscard]] Result<std::vector<K>> sort(Context& context, std::span<const K> items, Order order = Order::ascending) {
  SortShape shape = sort_shape<K>(items.size(), order);
  shape.in_place = true;  // an array less on the device
  const auto sorted = sort_bytes(context, shape, std::as_bytes(items));
  if (!sorted) return std::unexpected(sorted.error());
  return items_of<K>(sorted->keys);
}

/// Each segment [offsets[s], offsets[s + 1]) in order on its own, as sort(). Items in front of the first segment and
/// behind the last one stay. Offsets ascend, and none is greater than the number of items; at least one.
template <SortKey K>
[[nodiscard]] Result<std::vector<K>> sort_segments(Context& context, std::span<const K> items,
                                                   std::span<const std::uint32_t> offsets,
                                                   Order order = Order::ascending) {
  if (const Status ok = check_offsets(offsets, items.size()); !ok) return std::unexpected(ok.error());
  SortShape shape = sort_shape<K>(items.size(), order);
  shape.in_place = true;
  shape.segment_count = Count::on_host(offsets.size() - 1);
  for (std::size_t s = 1; s < offsets.size(); ++s) {
    shape.longest_segment = std::max<std::uint64_t>(shape.longest_segment, offsets[s] - offsets[s - 1]);
  }
  const auto sorted = sort_bytes(context, shape, std::as_bytes(items), {}, offsets);
  if (!sorted) return std::unexpected(sorted.error());
  return items_of<K>(sorted->keys);
}

template <SortKey K, Movable V>
struct SortedPairs {
  std::vector<K> keys;
  std::vector<V> values;
};
/// Sorts keys; each takes its value along. As many values as keys.
template <SortKey K, Movable V>
[[nodiscard]] Result<SortedPairs<K, V>> sort_pairs(Context& context, std::span<const K> keys, std::span<const V> values,
                                                   Order order = Order::ascending) {
  SortShape shape = sort_shape<K>(keys.size(), order);
  auto type = moved_type(sizeof(V));
  if (!type) return std::unexpected(type.error());
  shape.value = std::move(*type);
  const auto sorted = sort_bytes(context, shape, std::as_bytes(keys), std::as_bytes(values));
  if (!sorted) return std::unexpected(sorted.error());
  auto sorted_keys = items_of<K>(sorted->keys);
  auto sorted_values = items_of<V>(sorted->values);
  if (!sorted_keys) return std::unexpected(sorted_keys.error());
  if (!sorted_values) return std::unexpected(sorted_values.error());
  return SortedPairs<K, V>{std::move(*sorted_keys), std::move(*sorted_values)};
}

/// Where each item of the sorted array is in `items`: items[argsort[0]] is the first. The order as for sort().
template <SortKey K>
[[nodiscard]] Result<std::vector<std::uint32_t>> argsort(Context& context, std::span<const K> items,
                                                         Order order = Order::ascending) {
  SortShape shape = sort_shape<K>(items.size(), order);
  shape.write_keys = false;
  shape.write_indices = true;
  auto sorted = sort_bytes(context, shape, std::as_bytes(items));
  if (!sorted) return std::unexpected(sorted.error());
  return std::move(sorted->indices);
}

/// Where queries belong in sorted items (record_search), one position a query.
[[nodiscard]] Result<std::vector<std::uint32_t>> search_bytes(Context& context, const SearchShape& shape,
                                                              std::span<const std::byte> items,
                                                              std::span<const std::byte> queries);

/// The element type of numbers that have a natural order; doubles are compared as such.
template <SortKey K>
[[nodiscard]] ElementType ordered_type(KeyOrder& order) {
  if constexpr (std::is_same_v<K, double>) {
    order.is_f64 = true;
    return ElementType::u64();
  } else {
    return element_of<K>();
  }
}

/// For each query the number of items that come before it: the first place where it could be inserted. The items are
/// sorted by `order`, one of the natural ones (NaN is the greatest, -0 equals +0); for structs use search_bytes().
template <SortKey K>
[[nodiscard]] Result<std::vector<std::uint32_t>> lower_bound(Context& context, std::span<const K> items,
                                                             std::span<const K> queries, KeyOrder order = {},
                                                             SearchBound bound = SearchBound::lower) {
  SearchShape shape{.item_count = Count::on_host(items.size()), .query_count = Count::on_host(queries.size())};
  shape.item = ordered_type<K>(order);
  shape.order = std::move(order);
  shape.bound = bound;
  return search_bytes(context, shape, std::as_bytes(items), std::as_bytes(queries));
}
/// The same, behind the items that are equal to the query: the last place where it could be inserted.
template <SortKey K>
[[nodiscard]] Result<std::vector<std::uint32_t>> upper_bound(Context& context, std::span<const K> items,
                                                             std::span<const K> queries, KeyOrder order = {}) {
  return lower_bound<K>(context, items, queries, std::move(order), SearchBound::upper);
}

/// Runs record_is_sorted: whether the items are sorted. The shape's results are chosen by the call.
[[nodiscard]] Result<bool> is_sorted_bytes(Context& context, const IsSortedShape& shape,
                                           std::span<const std::byte> items);
/// Whether numbers are sorted by one of the natural orders.
template <SortKey K>
[[nodiscard]] Result<bool> is_sorted(Context& context, std::span<const K> items, KeyOrder order = {}) {
  IsSortedShape shape{.item_count = Count::on_host(items.size())};
  shape.input = ordered_type<K>(order);
  shape.order = std::move(order);
  return is_sorted_bytes(context, shape, std::as_bytes(items));
}

/// What a merge gives; values are empty where the shape has none.
struct MergedBytes {
  std::vector<std::byte> keys;
  std::vector<std::byte> values;
};
/// Merges two sorted ranges (record_merge). Values are empty unless the shape has some.
[[nodiscard]] Result<MergedBytes> merge_bytes(Context& context, const MergeShape& shape,
                                              std::span<const std::byte> left_keys,
                                              std::span<const std::byte> right_keys,
                                              std::span<const std::byte> left_values = {},
                                              std::span<const std::byte> right_values = {});
/// Two ranges of numbers, each sorted by the order, as one: std::merge. Of equal ones those on the left come first.
template <SortKey K>
[[nodiscard]] Result<std::vector<K>> merge(Context& context, std::span<const K> left, std::span<const K> right,
                                           KeyOrder order = {}) {
  MergeShape shape{.left_count = Count::on_host(left.size()), .right_count = Count::on_host(right.size())};
  shape.key = ordered_type<K>(order);
  shape.order = std::move(order);
  const auto merged = merge_bytes(context, shape, std::as_bytes(left), std::as_bytes(right));
  if (!merged) return std::unexpected(merged.error());
  return items_of<K>(merged->keys);
}

/// Runs a merge sort (record_merge_sort). `values` are empty unless the shape has some.
[[nodiscard]] Result<SortedBytes> merge_sort_bytes(Context& context, const MergeSortShape& shape,
                                                   std::span<const std::byte> keys,
                                                   std::span<const std::byte> values = {});
/// Items of any type by an order given as WGSL text (or a natural one), as std::stable_sort: `type` says what a T is in
/// WGSL, and T is laid out as WGSL lays it out.
template <typename T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] Result<std::vector<T>> merge_sort(Context& context, std::span<const T> items, const ElementType& type,
                                                const KeyOrder& order) {
  const MergeSortShape shape{.item_count = Count::on_host(items.size()), .key = type, .order = order};
  const auto sorted = merge_sort_bytes(context, shape, std::as_bytes(items));
  if (!sorted) return std::unexpected(sorted.error());
  return items_of<T>(sorted->keys);
}

/// What a top-k gives; empty where the shape does not write it.
struct TopKBytes {
  std::vector<std::byte> keys;
  std::vector<std::byte> values;
  std::vector<std::uint32_t> indices;
  std::vector<std::byte> threshold;  ///< One key; of f16 a word.
};
/// Runs a top-k. `values` are empty unless the shape has some. Counts must be known on the host; a count is not written
/// here.
[[nodiscard]] Result<TopKBytes> top_k_bytes(Context& context, const TopKShape& shape, std::span<const std::byte> keys,
                                            std::span<const std::byte> values = {});

/// A top-k of so many C++ numbers.
template <SortKey K>
[[nodiscard]] TopKShape top_k_shape(std::size_t count, std::size_t k, bool largest) {
  SortShape sort = sort_shape<K>(count, largest ? Order::descending : Order::ascending);
  return {.item_count = sort.item_count,
          .k = Count::on_host(k),
          .key = std::move(sort.key),
          .key_is_f64 = sort.key_is_f64,
          .largest = largest};
}

template <SortKey K>
struct TopK {
  std::vector<K> items;                ///< The largest first, or the smallest, with their bits.
  std::vector<std::uint32_t> indices;  ///< Where they are in the input.
};
/// The k largest items, or the smallest; all of them if there are fewer. As the first k of a stable sort: NaN is the
/// greatest, -0 equals +0, of equal items the first ones win.
template <SortKey K>
[[nodiscard]] Result<TopK<K>> top_k(Context& context, std::span<const K> items, std::size_t k, bool largest = true) {
  TopKShape shape = top_k_shape<K>(items.size(), k, largest);
  shape.write_indices = true;
  auto top = top_k_bytes(context, shape, std::as_bytes(items));
  if (!top) return std::unexpected(top.error());
  auto found = items_of<K>(top->keys);
  if (!found) return std::unexpected(found.error());
  return TopK<K>{std::move(*found), std::move(top->indices)};
}

/// The item that a sort would put at `position` (from 0), as std::nth_element finds it; -0 is given as +0, NaN as the
/// quiet one. An error if there is no such position.
template <SortKey K>
[[nodiscard]] Result<K> nth_element(Context& context, std::span<const K> items, std::size_t position) {
  if (position >= items.size()) {
    return fail(ErrorKind::invalid_request, "nth_element: position " + std::to_string(position) + " is none of the " +
                                                std::to_string(items.size()) + " items.");
  }
  TopKShape shape = top_k_shape<K>(items.size(), position + 1, false);
  shape.write_keys = false;
  shape.write_threshold = true;
  const auto top = top_k_bytes(context, shape, std::as_bytes(items));
  if (!top) return std::unexpected(top.error());
  const auto found = items_of<K>(top->threshold);
  if (!found) return std::unexpected(found.error());
  return found->at(0);
}

}  // namespace upsweep::host
