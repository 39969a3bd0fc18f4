// SPDX-License-Identifier: Apache-2.0
#include "upsweep/merge_sort.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <format>
#include <span>
#include <vector>

#include "benchmarking/bench_families.h"
#include "benchmarking/tuning.h"

namespace upsweep::bench {
namespace {

// "keys_by_text" and "pairs_by_text": the same order, but given as WGSL text.
struct MergeSortOperation {
  std::string_view name;
  bool has_values = false;
  bool is_text = false;
};
constexpr std::array merge_sort_operations{
    MergeSortOperation{.name = "keys"},
    MergeSortOperation{.name = "pairs", .has_values = true},
    MergeSortOperation{.name = "keys_by_text", .is_text = true},
    MergeSortOperation{.name = "pairs_by_text", .has_values = true, .is_text = true},
};

constexpr std::uint64_t chunk_items = 1ull << 22;

template <typename T>
Result<std::vector<T>> read_chunk(Context& context, const BufferView& view, std::uint64_t first, std::uint64_t count) {
  const auto bytes = context.read(BufferView(view.buffer, view.offset_bytes + first * sizeof(T), count * sizeof(T)),
                                  count * sizeof(T));
  if (!bytes) return std::unexpected(bytes.error());
  std::vector<T> items(count);
  std::memcpy(items.data(), bytes->data(), bytes->size());
  return items;
}

// Whether keys ascend, and are those of the input: by the sum of their squares' bits, which a changed key would change.
// With values that number the items each key is that of its number, and of equal keys the numbers ascend.
template <typename Key, typename InputKey>
Result<Verdict> check_sorted(Context& context, const BufferView& sorted_keys, const BufferView* sorted_values,
                             std::uint64_t item_count, InputKey input_key) {
  const auto mark = [](std::uint64_t key) { return (key ^ (key >> 29)) * (2 * key + 1); };
  std::uint64_t marks = 0;
  Key last_key = 0;
  std::uint32_t last_value = 0;
  for (std::uint64_t first = 0; first < item_count; first += chunk_items) {
    const std::uint64_t count = std::min(chunk_items, item_count - first);
    const auto keys = read_chunk<Key>(context, sorted_keys, first, count);
    if (!keys) return std::unexpected(keys.error());
    std::vector<std::uint32_t> values;
    if (sorted_values != nullptr) {
      auto read = read_chunk<std::uint32_t>(context, *sorted_values, first, count);
      if (!read) return std::unexpected(read.error());
      values = std::move(*read);
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const Key key = keys->at(i);
      const bool is_first = first + i == 0;
      if (!is_first && key < last_key) return Verdict{};
      if (sorted_values != nullptr) {
        if (values[i] >= item_count || input_key(values[i]) != key) return Verdict{};
        if (!is_first && key == last_key && values[i] <= last_value) return Verdict{};
        last_value = values[i];
      }
      marks += mark(key) - mark(input_key(static_cast<std::uint32_t>(first + i)));
      last_key = key;
    }
  }
  return Verdict{.correct = marks == 0};
}

class MergeSortBench : public LibraryBench {
 public:
  MergeSortBench(const MergeSortOperation& operation, ElementType type, std::vector<std::string> tuning)
      : LibraryBench("merge_sort", std::string(operation.name), std::move(type)),
        has_values_(operation.has_values),
        is_text_(operation.is_text),
        tuning_(std::move(tuning)) {}

  Status prepare(Session& session, std::uint64_t most_items) override {
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
    std::vector<std::uint32_t> numbers;
    for (std::uint64_t first = 0; first < most; first += chunk_items) {
      numbers.resize(std::min(chunk_items, most - first));
      for (std::uint64_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint32_t>(first + i);
      const BufferView view(values_.buffer, values_.offset_bytes + first * 4, numbers.size() * 4);
      if (const Status ok = session.context().write(view, std::as_bytes(std::span(numbers))); !ok) return ok;
    }
    return {};
  }

  Result<Work> make(Session& session, std::uint64_t item_count) override {
    MergeSortShape shape{.item_count = Count::on_host(item_count), .key = type()};
    if (is_text_) {
      shape.order = KeyOrder::less(
          "lies_before", std::format("fn lies_before(a: {0}, b: {0}) -> bool {{ return a < b; }}", type().wgsl_type));
    }
    if (has_values_) shape.value = ElementType::u32();
    std::optional<MergeSortTuning> tuning;
    if (!tuning_.empty()) {
      tuning = select_merge_sort_tuning(shape, session.context().traits());
      if (const Status ok = change_tuning(*tuning, tuning_); !ok) return std::unexpected(ok.error());
    }
    auto plan = plan_merge_sort(shape, session.context().traits(), tuning);
    if (!plan) return std::unexpected(plan.error());
    MergeSortBuffers buffers{.keys = session.input(), .sorted_keys = sorted_keys_};
    if (has_values_) {
      buffers.values = values_;
      buffers.sorted_values = sorted_values_;
    }
    return Work{std::make_shared<const Plan>(std::move(*plan)),
                [&session, shape, tuning, buffers](WGPUComputePassEncoder pass) {
                  return record_merge_sort(session.context(), pass, shape, buffers, tuning);
                }};
  }

  Result<Expectation> expect(Session& session, std::uint64_t item_count) override {
    const std::uint64_t key_words = words_of(item_count);
    Expectation expected{.outputs = {BufferView(sorted_keys_.buffer, 0, key_words * 4)},
                         .check = [&session, item_count, this] { return check(session.context(), item_count); },
                         .bytes_moved = 8 * (key_words + (has_values_ ? item_count : 0))};
    if (has_values_) expected.outputs.emplace_back(sorted_values_.buffer, 0, item_count * 4);
    return expected;
  }

 private:
  [[nodiscard]] Result<Verdict> check(Context& context, std::uint64_t item_count) const {
    const BufferView* values = has_values_ ? &sorted_values_ : nullptr;
    const Scalar scalar = *type().scalar;
    if (scalar == Scalar::u64) {
      return check_sorted<std::uint64_t>(context, sorted_keys_, values, item_count, input_u64);
    }
    // Numbers in [0, 1) compare as their bits do.
    return check_sorted<std::uint32_t>(context, sorted_keys_, values, item_count,
                                       [scalar](std::uint32_t i) { return input_bits(i, scalar); });
  }

  bool has_values_;
  bool is_text_;
  std::vector<std::string> tuning_;
  BufferView sorted_keys_;
  BufferView values_;
  BufferView sorted_values_;
};

}  // namespace

Result<LibraryBenches> merge_sort_benches(const BenchRequest& request) {
  MergeSortTuning tried;
  if (const Status ok = change_tuning(tried, request.tuning); !ok) return std::unexpected(ok.error());
  LibraryBenches benches;
  std::string known;
  for (const MergeSortOperation& operation : merge_sort_operations) {
    for (const ElementType& type : {ElementType::u32(), ElementType::f32(), ElementType::u64()}) {
      if (operation.is_text && type.is_64_bit()) continue;
      known += std::format("{}{} of {}", known.empty() ? "" : ", ", operation.name, type.name);
      const bool is_wanted = request.operation.empty() ? !operation.is_text : request.operation == operation.name;
      const bool has_type =
          request.types.empty() ? type == ElementType::u32() : std::ranges::contains(request.types, type);
      if (is_wanted && has_type) benches.push_back(std::make_unique<MergeSortBench>(operation, type, request.tuning));
    }
  }
  if (benches.empty()) {
    return fail(ErrorKind::invalid_request,
                std::format("The benchmark of merge_sort shows {}, and nothing else.", known));
  }
  return benches;
}

}  // namespace upsweep::bench
