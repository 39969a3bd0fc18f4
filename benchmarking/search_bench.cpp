// SPDX-License-Identifier: Apache-2.0
#include "upsweep/search.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <format>
#include <span>
#include <vector>

#include "benchmarking/bench_families.h"
#include "benchmarking/chunks.h"
#include "benchmarking/tuning.h"

namespace upsweep::bench {
namespace {

// As many queries as items. Item i is 2 i + 1, so that the lower bound of a query q is q / 2, or the number of items.
struct SearchOperation {
  std::string_view name;
  bool is_sorted = false;
};
constexpr std::array search_operations{
    SearchOperation{.name = "random_queries"},
    SearchOperation{.name = "sorted_queries", .is_sorted = true},
};

// Query i where there are so many items: anywhere among them, or one after the other.
std::uint32_t query_of(std::uint32_t i, std::uint64_t item_count, bool is_sorted) {
  if (is_sorted) return 2 * i + i % 2;
  return static_cast<std::uint32_t>(std::uint64_t{input_hash(i)} * (2 * item_count + 2) >> 32);
}

class SearchBench : public LibraryBench {
 public:
  SearchBench(const SearchOperation& operation, std::vector<std::string> tuning)
      : LibraryBench("search", std::string(operation.name), ElementType::u32()),
        is_sorted_(operation.is_sorted),
        tuning_(std::move(tuning)) {}

  Status prepare(Session& session, std::uint64_t most_items) override {
    const std::uint64_t most = std::max<std::uint64_t>(most_items, 1);
    for (const auto& [label, view] : {std::pair{"items", &items_}, {"queries", &queries_}, {"output", &positions_}}) {
      const auto made = session.buffer(label, most);
      if (!made) return std::unexpected(made.error());
      *view = *made;
    }
    return write_words(session.context(), items_, most, [](std::uint32_t i) { return 2 * i + 1; });
  }

  Result<Work> make(Session& session, std::uint64_t item_count) override {
    const SearchShape shape{.item_count = Count::on_host(item_count), .query_count = Count::on_host(item_count)};
    std::optional<SearchTuning> tuning;
    if (!tuning_.empty()) {
      tuning = select_search_tuning(shape, session.context().traits());
      if (const Status ok = change_tuning(*tuning, tuning_); !ok) return std::unexpected(ok.error());
    }
    auto plan = plan_search(shape, session.context().traits(), tuning);
    if (!plan) return std::unexpected(plan.error());
    const SearchBuffers buffers{.items = items_, .queries = queries_, .positions = positions_};
    return Work{std::make_shared<const Plan>(std::move(*plan)),
                [&session, shape, tuning, buffers](WGPUComputePassEncoder pass) {
                  return record_search(session.context(), pass, shape, buffers, tuning);
                }};
  }

  Result<Expectation> expect(Session& session, std::uint64_t item_count) override {
    const Status written = write_words(session.context(), queries_, item_count,
                                       [&](std::uint32_t i) { return query_of(i, item_count, is_sorted_); });
    if (!written) return std::unexpected(written.error());
    return Expectation{.outputs = {BufferView(positions_.buffer, 0, item_count * 4)},
                       .check = [&session, item_count, this] { return check(session.context(), item_count); },
                       .bytes_moved = 8 * item_count};
  }

 private:
  [[nodiscard]] Result<Verdict> check(Context& context, std::uint64_t item_count) const {
    const auto bytes = context.read(positions_, item_count * 4);
    if (!bytes) return std::unexpected(bytes.error());
    std::vector<std::uint32_t> found(item_count);
    std::memcpy(found.data(), bytes->data(), bytes->size());
    for (std::uint64_t i = 0; i < item_count; ++i) {
      const std::uint32_t query = query_of(static_cast<std::uint32_t>(i), item_count, is_sorted_);
      if (found[i] != std::min<std::uint64_t>(query / 2, item_count)) return Verdict{};
    }
    return Verdict{.correct = true};
  }

  bool is_sorted_;
  std::vector<std::string> tuning_;
  BufferView items_;
  BufferView queries_;
  BufferView positions_;
};

}  // namespace

Result<LibraryBenches> search_benches(const BenchRequest& request) {
  SearchTuning tried;
  if (const Status ok = change_tuning(tried, request.tuning); !ok) return std::unexpected(ok.error());
  LibraryBenches benches;
  std::string known;
  for (const SearchOperation& operation : search_operations) {
    known += std::format("{}{} of u32", known.empty() ? "" : ", ", operation.name);
    const bool is_wanted = request.operation.empty() || request.operation == operation.name;
    const bool has_type = request.types.empty() || std::ranges::contains(request.types, ElementType::u32());
    if (is_wanted && has_type) benches.push_back(std::make_unique<SearchBench>(operation, request.tuning));
  }
  if (benches.empty()) {
    return fail(ErrorKind::invalid_request, std::format("The benchmark of search shows {}, and nothing else.", known));
  }
  return benches;
}

}  // namespace upsweep::bench
