// SPDX-License-Identifier: Apache-2.0
#include "upsweep/merge_sort.h"

#include <algorithm>
#include <array>
#include <format>
#include <vector>

#include "benchmarking/bench_families.h"
#include "benchmarking/sorted_bench.h"
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

class MergeSortBench : public SortedBench {
 public:
  MergeSortBench(const MergeSortOperation& operation, ElementType type, std::vector<std::string> tuning)
      : SortedBench("merge_sort", std::string(operation.name), std::move(type), operation.has_values),
        is_text_(operation.is_text),
        tuning_(std::move(tuning)) {}

  Result<Work> make(Session& session, std::uint64_t item_count) override {
    MergeSortShape shape{.item_count = Count::on_host(item_count), .key = type()};
    if (is_text_) {
      shape.order = KeyOrder::less(
          "lies_before", std::format("fn lies_before(a: {0}, b: {0}) -> bool {{ return a < b; }}", type().wgsl_type));
    }
    if (has_values()) shape.value = ElementType::u32();
    std::optional<MergeSortTuning> tuning;
    if (!tuning_.empty()) {
      tuning = select_merge_sort_tuning(shape, session.context().traits());
      if (const Status ok = change_tuning(*tuning, tuning_); !ok) return std::unexpected(ok.error());
    }
    auto plan = plan_merge_sort(shape, session.context().traits(), tuning);
    if (!plan) return std::unexpected(plan.error());
    MergeSortBuffers buffers{.keys = session.input(), .sorted_keys = sorted_keys()};
    if (has_values()) {
      buffers.values = values();
      buffers.sorted_values = sorted_values();
    }
    return Work{std::make_shared<const Plan>(std::move(*plan)),
                [&session, shape, tuning, buffers](WGPUComputePassEncoder pass) {
                  return record_merge_sort(session.context(), pass, shape, buffers, tuning);
                }};
  }

 private:
  bool is_text_;
  std::vector<std::string> tuning_;
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
