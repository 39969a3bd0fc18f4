// SPDX-License-Identifier: Apache-2.0
#include "plan_request.h"

#include "fields.h"
#include "plan/kernel_builder.h"
#include "plan/plan_builder.h"

namespace upsweep::web {
namespace {

struct Nothing {};
void list_fields(Nothing&, FieldList&) {}

// One field of a request, left as it is where the request has none.
template <typename T>
void read_part(Reader& reader, const Value& request, std::string_view name, T& to) {
  const Value* value = request.find(name);
  if (value != nullptr && value->kind != Value::Kind::none) reader.read(*value, to, Place{name});
}

std::unexpected<Error> refuse(const Reader& reader) { return fail(ErrorKind::invalid_request, reader.error()); }

// Shape, traits, tuning and offsets of a request.
template <typename Shape, typename Tuning, typename Offsets, typename Select, typename MakePlan>
Result<Planned> answer(const Value& request, Select select_tuning, MakePlan make_plan) {
  Reader reader;
  Shape shape;
  DeviceTraits traits;
  Offsets offsets;
  read_part(reader, request, "shape", shape);
  read_part(reader, request, "traits", traits);
  read_part(reader, request, "offsets", offsets);
  if (!reader.error().empty()) return refuse(reader);
  Tuning tuning = select_tuning(shape, traits);
  // The caller's knobs in place of the library's, one by one.
  read_part(reader, request, "tuning", tuning);
  if (!reader.error().empty()) return refuse(reader);
  Planned planned{.plan = {}, .tuning = written(tuning)};
  const Value* want = request.find("want");
  if (want != nullptr && want->text == "tuning") return planned;
  Result<Plan> plan = make_plan(shape, traits, tuning, offsets);
  if (!plan) return std::unexpected(std::move(plan).error());
  planned.plan = std::move(*plan);
  return planned;
}

// Of the scans and what they are underneath.
template <typename Shape>
Result<Planned> answer_scan(const Value& request, Result<Plan> (*make_plan)(const Shape&, const DeviceTraits&,
                                                                            std::optional<ScanTuning>, ScanOffsets)) {
  return answer<Shape, ScanTuning, ScanOffsets>(
      request, [](const Shape& shape, const DeviceTraits& traits) { return select_scan_tuning(shape, traits); },
      make_plan);
}

template <typename Shape, typename Tuning>
Result<Planned> answer_plain(const Value& request, Tuning (*select_tuning)(const Shape&, const DeviceTraits&),
                             Result<Plan> (*make_plan)(const Shape&, const DeviceTraits&, std::optional<Tuning>)) {
  return answer<Shape, Tuning, Nothing>(
      request, select_tuning,
      [make_plan](const Shape& shape, const DeviceTraits& traits, const Tuning& tuning, Nothing) {
        return make_plan(shape, traits, tuning);
      });
}

Result<Planned> answer_is_sorted(const Value& request) {
  return answer<IsSortedShape, Nothing, Nothing>(
      request, [](const IsSortedShape&, const DeviceTraits&) { return Nothing{}; },
      [](const IsSortedShape& shape, const DeviceTraits& traits, Nothing, Nothing) {
        return plan_is_sorted(shape, traits);
      });
}

// The kernels of src/exec/probe.cpp: argument `output`, so many words.
Result<Planned> answer_probe(const Value& request, std::string_view which) {
  constexpr std::uint32_t threads = 256;
  const bool of_subgroups = which == "probe_subgroups";
  Reader reader;
  DeviceTraits traits;
  read_part(reader, request, "traits", traits);
  if (!reader.error().empty()) return refuse(reader);
  KernelBuilder builder{std::string(which)};
  if (of_subgroups) {
    builder.enable("subgroups").workgroup(threads, 0).part("probe_subgroups.wgsl");
  } else {
    builder.workgroup(threads, 8).part("thread.wgsl").part("entry.plain.wgsl").part("probe_arithmetic.wgsl");
  }
  auto kernel = std::move(builder).build();
  if (!kernel) return std::unexpected(kernel.error());
  PlanBuilder plan("probe", traits);
  const SlotId output = plan.argument("output", of_subgroups ? threads * 16 : 16, 16);
  plan.dispatch({.kernel = *kernel,
                 .workgroup_count = 1,
                 .bindings = {{"output", output}},
                 .params = {{"one", 1}},
                 .reason = {}});
  auto finished = std::move(plan).finish();
  if (!finished) return std::unexpected(finished.error());
  return Planned{.plan = std::move(*finished), .tuning = {}};
}

}  // namespace

Result<Planned> plan_request(const Value& request) {
  const Value* primitive = request.find("primitive");
  const std::string name = primitive == nullptr ? std::string() : primitive->text;
  if (name == "reduce")
    return answer<ReduceShape, ReduceTuning, ReduceOffsets>(request, select_reduce_tuning, plan_reduce);
  if (name == "scan") return answer_scan<ScanShape>(request, plan_scan);
  if (name == "select") return answer_scan<SelectShape>(request, plan_select);
  if (name == "partition") return answer_scan<PartitionShape>(request, plan_partition);
  if (name == "unique") return answer_scan<UniqueShape>(request, plan_unique);
  if (name == "run_length") return answer_scan<RunLengthShape>(request, plan_run_length);
  if (name == "reduce_by_key") return answer_scan<ReduceByKeyShape>(request, plan_reduce_by_key);
  if (name == "adjacent_difference") return answer_scan<AdjacentDifferenceShape>(request, plan_adjacent_difference);
  if (name == "histogram") {
    return answer<HistogramShape, HistogramTuning, HistogramOffsets>(request, select_histogram_tuning, plan_histogram);
  }
  if (name == "sort") return answer_plain<SortShape, SortTuning>(request, select_sort_tuning, plan_sort);
  if (name == "top_k") {
    return answer<TopKShape, TopKTuning, TopKOffsets>(
        request, select_top_k_tuning,
        [](const TopKShape& shape, const DeviceTraits& traits, const TopKTuning& tuning, TopKOffsets offsets) {
          return plan_top_k(shape, traits, tuning, offsets.input_bytes);
        });
  }
  if (name == "search") return answer_plain<SearchShape, SearchTuning>(request, select_search_tuning, plan_search);
  if (name == "merge") return answer_plain<MergeShape, MergeTuning>(request, select_merge_tuning, plan_merge);
  if (name == "merge_sort") {
    return answer_plain<MergeSortShape, MergeSortTuning>(request, select_merge_sort_tuning, plan_merge_sort);
  }
  if (name == "is_sorted") return answer_is_sorted(request);
  if (name == "spmv") return answer_plain<SpmvShape, SpmvTuning>(request, select_spmv_tuning, plan_spmv);
  if (name == "spmv_tiles") return answer_plain<SpmvShape, SpmvTuning>(request, select_spmv_tuning, plan_spmv_tiles);
  if (name == "probe_arithmetic" || name == "probe_subgroups") return answer_probe(request, name);
  return fail(ErrorKind::invalid_request, "There is no primitive \"" + name + "\".");
}

}  // namespace upsweep::web
