// SPDX-License-Identifier: Apache-2.0
// The fields of every shape, tuning and of the traits by name: one list, from which requests are read and tunings
// written. A member that is missing here cannot be set from JavaScript (field_list_test.cpp finds it); one that is
// named wrongly does not compile.
#pragma once

#include <array>
#include <string_view>

#include "field_list.h"
#include "upsweep/upsweep.h"

namespace upsweep::web {

// The names of enumerators, in their order.
template <typename Enum>
constexpr std::array<std::string_view, 0> names_of{};
template <>
inline constexpr std::array<std::string_view, 3> names_of<Segmentation::Kind>{"whole", "rows", "offsets"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<ScanKind>{"inclusive", "exclusive"};
template <>
inline constexpr std::array<std::string_view, 4> names_of<ScanSegments::Kind>{"whole", "rows", "flags", "keys"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<Determinism>{"any", "run_to_run"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<ScanPath>{"automatic", "two_pass", "single_pass"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<SortPath>{"automatic", "three_pass", "single_pass"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<FlagFormat>{"words", "bytes", "bits"};
template <>
inline constexpr std::array<std::string_view, 6> names_of<SampleType>{"u8", "u16", "u32", "i32", "f16", "f32"};
template <>
inline constexpr std::array<std::string_view, 4> names_of<HistogramBins::Kind>{"even", "edges", "edges_on_device",
                                                                               "integers"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<HistogramWeights>{"none", "words", "floats"};
template <>
inline constexpr std::array<std::string_view, 4> names_of<HistogramPath>{"automatic", "registers", "workgroup",
                                                                         "cache"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<TopKOrder>{"sorted", "input_order"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<SearchBound>{"lower", "upper"};
template <>
inline constexpr std::array<std::string_view, 6> names_of<SparseFormat>{"csr",        "coo",       "ell",
                                                                        "sliced_ell", "block_ell", "hybrid"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<SparseValues>{"f32", "f16", "ones"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<SpmvPath>{"automatic", "rows", "merge"};

// The test that looks for forgotten members defines it otherwise.
#ifndef UPSWEEP_FIELDS
#define UPSWEEP_FIELDS(Type, ...) \
  inline void list_fields(Type& it, FieldList& field) { __VA_ARGS__; }
#endif

UPSWEEP_FIELDS(BinaryOperator, field("function", it.function), field("wgsl", it.wgsl), field("identity", it.identity),
               field("commutative", it.commutative))
// What makes an element type of a struct.
struct StructureFields {
  std::string name;
  std::string wgsl;
  std::uint32_t size_bytes = 0;
  std::uint32_t stride_bytes = 0;
};
UPSWEEP_FIELDS(StructureFields, field("name", it.name), field("wgsl", it.wgsl), field("size_bytes", it.size_bytes),
               field("stride_bytes", it.stride_bytes))
UPSWEEP_FIELDS(Transform, field("expression", it.expression), field("wgsl", it.wgsl))
UPSWEEP_FIELDS(Equality, field("expression", it.expression), field("wgsl", it.wgsl))
UPSWEEP_FIELDS(Predicate, field("expression", it.expression), field("wgsl", it.wgsl), field("flags", it.flags))
UPSWEEP_FIELDS(KeyOrder, field("function", it.function), field("wgsl", it.wgsl), field("reverse", it.reverse),
               field("is_f64", it.is_f64))

UPSWEEP_FIELDS(Segmentation, field("kind", it.kind), field("count", it.count), field("row_length", it.row_length))
UPSWEEP_FIELDS(ReduceShape, field("item_count", it.item_count), field("input", it.input),
               field("second_input", it.second_input), field("transform", it.transform), field("value", it.value),
               field("combine", it.combine), field("output", it.output), field("segments", it.segments),
               field("init", it.init))
UPSWEEP_FIELDS(ReduceTuning, field("workgroup_size", it.workgroup_size), field("units_per_thread", it.units_per_thread),
               field("use_vectors", it.use_vectors), field("use_subgroups", it.use_subgroups),
               field("single_pass", it.single_pass), field("max_workgroups", it.max_workgroups),
               field("longest_chain", it.longest_chain), field("one_workgroup_items", it.one_workgroup_items))
UPSWEEP_FIELDS(ReduceOffsets, field("input_bytes", it.input_bytes), field("second_input_bytes", it.second_input_bytes))

UPSWEEP_FIELDS(ScanSegments, field("kind", it.kind), field("row_count", it.row_count),
               field("row_length", it.row_length), field("format", it.format), field("key", it.key),
               field("equality", it.equality))
UPSWEEP_FIELDS(ScanShape, field("item_count", it.item_count), field("input", it.input),
               field("transform", it.transform), field("value", it.value), field("combine", it.combine),
               field("kind", it.kind), field("init", it.init), field("result", it.result), field("store", it.store),
               field("output", it.output), field("reverse", it.reverse), field("segments", it.segments),
               field("write_total", it.write_total), field("in_place", it.in_place),
               field("determinism", it.determinism))
UPSWEEP_FIELDS(ScanTuning, field("path", it.path), field("workgroup_size", it.workgroup_size), field("rows", it.rows),
               field("use_vectors", it.use_vectors), field("use_subgroups", it.use_subgroups),
               field("max_workgroups", it.max_workgroups), field("one_workgroup_items", it.one_workgroup_items),
               field("in_order", it.in_order), field("poll_rounds", it.poll_rounds))
UPSWEEP_FIELDS(ScanOffsets, field("input_bytes", it.input_bytes), field("output_bytes", it.output_bytes))

UPSWEEP_FIELDS(SelectShape, field("item_count", it.item_count), field("input", it.input),
               field("predicate", it.predicate), field("write_items", it.write_items),
               field("write_indices", it.write_indices), field("dispatch_threads", it.dispatch_threads))
UPSWEEP_FIELDS(PartitionShape, field("item_count", it.item_count), field("input", it.input), field("first", it.first),
               field("second", it.second))
UPSWEEP_FIELDS(UniqueShape, field("item_count", it.item_count), field("input", it.input),
               field("equality", it.equality), field("write_indices", it.write_indices))
UPSWEEP_FIELDS(RunLengthShape, field("item_count", it.item_count), field("input", it.input),
               field("equality", it.equality), field("write_values", it.write_values),
               field("write_lengths", it.write_lengths), field("write_offsets", it.write_offsets),
               field("only_repeated", it.only_repeated))
UPSWEEP_FIELDS(ReduceByKeyShape, field("item_count", it.item_count), field("key", it.key),
               field("equality", it.equality), field("input", it.input), field("combine", it.combine),
               field("output", it.output), field("determinism", it.determinism))
UPSWEEP_FIELDS(AdjacentDifferenceShape, field("item_count", it.item_count), field("input", it.input),
               field("expression", it.expression), field("wgsl", it.wgsl))

UPSWEEP_FIELDS(HistogramBins, field("kind", it.kind), field("count", it.count), field("lower", it.lower),
               field("upper", it.upper), field("edges", it.edges), field("first", it.first), field("shift", it.shift))
UPSWEEP_FIELDS(HistogramShape, field("item_count", it.item_count), field("sample", it.sample), field("bins", it.bins),
               field("channels", it.channels), field("channel_mask", it.channel_mask), field("weights", it.weights),
               field("fraction_bits", it.fraction_bits), field("accumulate", it.accumulate))
UPSWEEP_FIELDS(HistogramTuning, field("path", it.path), field("workgroup_size", it.workgroup_size),
               field("units_per_thread", it.units_per_thread), field("use_vectors", it.use_vectors),
               field("register_bins", it.register_bins), field("copies", it.copies),
               field("window_bins", it.window_bins), field("max_windows", it.max_windows),
               field("cache_slots", it.cache_slots), field("max_workgroups", it.max_workgroups),
               field("one_workgroup_samples", it.one_workgroup_samples))
UPSWEEP_FIELDS(HistogramOffsets, field("input_bytes", it.input_bytes), field("weights_bytes", it.weights_bytes))

UPSWEEP_FIELDS(KeyField, field("offset_bytes", it.offset_bytes), field("type", it.type), field("is_f64", it.is_f64),
               field("descending", it.descending))
UPSWEEP_FIELDS(SortShape, field("item_count", it.item_count), field("key", it.key), field("key_fields", it.key_fields),
               field("key_is_f64", it.key_is_f64), field("descending", it.descending), field("begin_bit", it.begin_bit),
               field("end_bit", it.end_bit), field("value", it.value), field("write_keys", it.write_keys),
               field("write_indices", it.write_indices), field("in_place", it.in_place),
               field("segment_count", it.segment_count), field("longest_segment", it.longest_segment))
UPSWEEP_FIELDS(SortTuning, field("path", it.path), field("workgroup_size", it.workgroup_size),
               field("items_per_thread", it.items_per_thread), field("digit_bits", it.digit_bits),
               field("stage_rounds", it.stage_rounds), field("use_subgroups", it.use_subgroups),
               field("lock_step", it.lock_step), field("look_back_late", it.look_back_late),
               field("in_order", it.in_order), field("poll_rounds", it.poll_rounds),
               field("look_records", it.look_records), field("max_workgroups", it.max_workgroups),
               field("one_workgroup_items", it.one_workgroup_items))

UPSWEEP_FIELDS(TopKShape, field("item_count", it.item_count), field("k", it.k), field("key", it.key),
               field("key_is_f64", it.key_is_f64), field("largest", it.largest), field("order", it.order),
               field("value", it.value), field("write_keys", it.write_keys), field("write_indices", it.write_indices),
               field("write_count", it.write_count), field("write_threshold", it.write_threshold))
UPSWEEP_FIELDS(TopKTuning, field("workgroup_size", it.workgroup_size), field("items_per_thread", it.items_per_thread),
               field("digit_bits", it.digit_bits), field("max_workgroups", it.max_workgroups),
               field("candidate_items", it.candidate_items), field("candidate_share", it.candidate_share),
               field("sort_all_items", it.sort_all_items), field("compaction", it.compaction), field("sort", it.sort))
// plan_top_k takes the offset of its keys alone.
struct TopKOffsets {
  std::uint64_t input_bytes = 0;
};
UPSWEEP_FIELDS(TopKOffsets, field("input_bytes", it.input_bytes))

UPSWEEP_FIELDS(SearchShape, field("item_count", it.item_count), field("query_count", it.query_count),
               field("item", it.item), field("order", it.order), field("bound", it.bound))
UPSWEEP_FIELDS(SearchTuning, field("workgroup_size", it.workgroup_size),
               field("queries_per_thread", it.queries_per_thread), field("sample_bytes", it.sample_bytes))
UPSWEEP_FIELDS(MergeShape, field("left_count", it.left_count), field("right_count", it.right_count),
               field("key", it.key), field("order", it.order), field("value", it.value))
UPSWEEP_FIELDS(MergeTuning, field("workgroup_size", it.workgroup_size), field("items_per_thread", it.items_per_thread),
               field("split_pass_items", it.split_pass_items))
UPSWEEP_FIELDS(MergeSortShape, field("item_count", it.item_count), field("key", it.key), field("order", it.order),
               field("value", it.value), field("write_keys", it.write_keys), field("write_indices", it.write_indices))
UPSWEEP_FIELDS(MergeSortTuning, field("sort_workgroup_size", it.sort_workgroup_size),
               field("sort_items_per_thread", it.sort_items_per_thread),
               field("merge_workgroup_size", it.merge_workgroup_size),
               field("merge_items_per_thread", it.merge_items_per_thread),
               field("split_pass_items", it.split_pass_items))
UPSWEEP_FIELDS(IsSortedShape, field("item_count", it.item_count), field("input", it.input), field("order", it.order),
               field("write_result", it.write_result), field("write_leading_count", it.write_leading_count))

UPSWEEP_FIELDS(SparseShape, field("format", it.format), field("values", it.values), field("row_count", it.row_count),
               field("column_count", it.column_count), field("entry_count", it.entry_count),
               field("longest_row", it.longest_row), field("width", it.width), field("row_stride", it.row_stride),
               field("slice_rows", it.slice_rows), field("is_reordered", it.is_reordered),
               field("block_size", it.block_size), field("rest_row_count", it.rest_row_count),
               field("rest_entry_count", it.rest_entry_count))
UPSWEEP_FIELDS(SpmvShape, field("matrix", it.matrix), field("alpha", it.alpha), field("beta", it.beta),
               field("scalars_on_device", it.scalars_on_device), field("has_tiles", it.has_tiles),
               field("vector_count", it.vector_count))
UPSWEEP_FIELDS(SpmvTuning, field("path", it.path), field("workgroup_size", it.workgroup_size),
               field("lanes_per_row", it.lanes_per_row), field("loads_ahead", it.loads_ahead),
               field("items_per_thread", it.items_per_thread), field("use_subgroups", it.use_subgroups))

UPSWEEP_FIELDS(DeviceTraits, field("max_workgroup_size", it.max_workgroup_size),
               field("max_workgroup_bytes", it.max_workgroup_bytes),
               field("max_workgroups_per_dimension", it.max_workgroups_per_dimension),
               field("max_storage_buffers", it.max_storage_buffers), field("max_binding_bytes", it.max_binding_bytes),
               field("max_buffer_bytes", it.max_buffer_bytes), field("offset_alignment", it.offset_alignment),
               field("subgroups", it.subgroups), field("subgroup_min_size", it.subgroup_min_size),
               field("subgroup_max_size", it.subgroup_max_size), field("subgroup_id_builtin", it.subgroup_id_builtin),
               field("subgroup_ids_follow_index", it.subgroup_ids_follow_index), field("look_back", it.look_back),
               field("lock_step", it.lock_step), field("f16", it.f16), field("timestamps", it.timestamps),
               field("emulated_subgroup_size", it.emulated_subgroup_size),
               field("emulated_subgroup_seed", it.emulated_subgroup_seed),
               field("test_hidden_chunks", it.test_hidden_chunks), field("test_shuffled_tiles", it.test_shuffled_tiles),
               field("test_broken_look_back", it.test_broken_look_back), field("adapter", it.adapter),
               field("adapter_vendor", it.adapter_vendor), field("is_cpu", it.is_cpu))

#undef UPSWEEP_FIELDS

}  // namespace upsweep::web
