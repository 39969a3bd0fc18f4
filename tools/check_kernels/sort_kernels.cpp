// SPDX-License-Identifier: Apache-2.0
// Kernels of sorts: every two properties meet; each key has every direction and ranking, each payload every path.
#include <format>

#include "combinations.h"
#include "kernel_cases.h"
#include "upsweep/sort.h"

namespace upsweep {
namespace {

struct SortCase {
  SortShape shape = {.item_count = Count::on_host(70000)};
  DeviceTraits traits = all_traits().front().traits;
  // Small, since the text grows with the items; subgroups of 128 are whole.
  SortTuning tuning = {.path = SortPath::three_pass,
                       .workgroup_size = 128,
                       .items_per_thread = 2,
                       .digit_bits = 6,
                       .one_workgroup_items = 0};
};

bool is_possible(const SortCase& c) {
  const bool is_indexed = c.shape.write_indices || (c.shape.value && c.shape.value->stride_bytes == 12);
  const bool has_result = c.shape.write_keys || c.shape.value || c.shape.write_indices;
  if (!has_result || (c.shape.in_place && !c.shape.write_keys)) return false;
  if (c.shape.in_place && c.shape.value && is_indexed) return false;
  if (c.shape.segment_count) {
    if (c.shape.write_indices && c.shape.value) return false;
    const bool is_half_key = c.shape.key.scalar == Scalar::f16;
    const bool is_half_value = c.shape.value && c.shape.value->scalar == Scalar::f16;
    if (c.shape.in_place && c.shape.value && is_half_key != is_half_value) return false;
  }
  return !(c.shape.write_indices && c.shape.value && c.shape.value->scalar == Scalar::f16);
}

Factor<SortCase> keys() {
  Factor<SortCase> factor;
  for (const ElementType& type : {ElementType::u32(), ElementType::i32(), ElementType::f32(), ElementType::f16(),
                                  ElementType::u64(), ElementType::i64()}) {
    factor.push_back({type.name, [type](SortCase& c) { c.shape.key = type; }});
  }
  factor.push_back({"f64", [](SortCase& c) {
                      c.shape.key = ElementType::u64();
                      c.shape.key_is_f64 = true;
                    }});
  return factor;
}

Factor<SortCase> payloads() {
  const auto values = [](const ElementType& type) { return [type](SortCase& c) { c.shape.value = type; }; };
  return {
      {"", [](SortCase&) {}},
      {"u32 values", values(ElementType::u32())},
      {"f16 values", values(ElementType::f16())},
      {"u64 values", values(ElementType::u64())},
      {"vec4 values", values(ElementType::vec(Scalar::f32, 4))},
      {"12-byte values", values(*ElementType::structure("Three", "struct Three { a: u32, b: u32, c: u32 }", 12, 12))},
      {"indices", [](SortCase& c) { c.shape.write_indices = true; }},
      {"indices and u32 values", [](SortCase& c) {
         c.shape.write_indices = true;
         c.shape.value = ElementType::u32();
       }}};
}

Factor<SortCase> rankings() {
  return {{"", [](SortCase&) {}},
          {"no subgroups", [](SortCase& c) { c.tuning.use_subgroups = false; }},
          {"lock-step", [](SortCase& c) { c.tuning.lock_step = true; }},
          {"lock-step, broken", [](SortCase& c) {
             c.tuning.lock_step = true;
             c.traits.test_broken_look_back = true;
           }}};
}

Factor<SortCase> paths() {
  return {{"three passes", [](SortCase&) {}},
          {"single pass", [](SortCase& c) { c.tuning.path = SortPath::single_pass; }},
          {"single pass, in order",
           [](SortCase& c) {
             c.tuning.path = SortPath::single_pass;
             c.tuning.in_order = true;
             c.tuning.look_back_late = false;
           }},
          {"segments",
           [](SortCase& c) {
             c.tuning.one_workgroup_items = 256;
             c.shape.segment_count = Count::on_host(1000);
           }},
          {"segments, joined",
           [](SortCase& c) {
             c.tuning.path = SortPath::automatic;
             c.tuning.one_workgroup_items = 256;
             c.shape.segment_count = Count::on_host(1000);
           }},
          {"at most so many segments, short",
           [](SortCase& c) {
             c.tuning.one_workgroup_items = 256;
             c.shape.segment_count = Count::on_device(1000);
             c.shape.longest_segment = 20;
           }},
          {"one tile", [](SortCase& c) {
             c.tuning.one_workgroup_items = 4096;
             c.shape.item_count.max = 100;
           }}};
}

Factor<SortCase> devices() {
  Factor<SortCase> factor;
  for (const NamedTraits& device : all_traits()) {
    factor.push_back({device.name, [device](SortCase& c) { c.traits = device.traits; }});
  }
  return factor;
}

Factor<SortCase> flag(std::string name, std::function<void(SortCase&)> set) {
  return {{"", [](SortCase&) {}}, {std::move(name), std::move(set)}};
}

}  // namespace

void add_sort_kernels(KernelSink& sink) {
  const auto use = [&](const SortCase& c, const std::string& name) {
    sink.add("sort: " + name, plan_sort(c.shape, c.traits, c.tuning));
  };
  const Factor<SortCase> directions = flag("descending", [](SortCase& c) { c.shape.descending = true; });
  for_each_case<SortCase>({keys(), payloads(), directions, rankings(), paths(), devices(),
                           flag("values alone", [](SortCase& c) { c.shape.write_keys = false; }),
                           flag("in place", [](SortCase& c) { c.shape.in_place = true; }),
                           flag("count on the device", [](SortCase& c) { c.shape.item_count.read_on_device = true; }),
                           flag("in parts", [](SortCase& c) { c.tuning.stage_rounds = 2; }),
                           flag("digits of 4 bits", [](SortCase& c) { c.tuning.digit_bits = 4; }),
                           flag("some bits",
                                [](SortCase& c) {
                                  c.shape.begin_bit = 3;
                                  c.shape.end_bit = 14;
                                })},
                          choose_pairs, is_possible, use);
  const ElementType triple = *ElementType::structure("Three", "struct Three { a: u32, b: u32, c: u32 }", 12, 12);
  for (const bool is_on_device : {false, true}) {
    SortShape shape{.item_count = {70000, is_on_device}, .key = triple};
    shape.key_fields = {{}, {.offset_bytes = 4, .type = ElementType::u64(), .is_f64 = true}, {.offset_bytes = 8}};
    shape.value = ElementType::u64();
    sink.add(std::format("sort by fields{}", is_on_device ? ", count on the device" : ""),
             plan_sort(shape, all_traits().front().traits));
  }
  for_each_case<SortCase>({keys(), directions, rankings()}, choose_all, is_possible, use);
  for_each_case<SortCase>({payloads(), paths()}, choose_all, is_possible, use);
  // What the library takes by itself.
  for (const NamedTraits& device : all_traits()) {
    for (const std::uint64_t count : {1000u, 100'000u, 1u << 24}) {
      SortShape shape{.item_count = Count::on_host(count)};
      sink.add(std::format("sort of {} keys on {}", count, device.name), plan_sort(shape, device.traits));
      shape.value = ElementType::u32();
      sink.add(std::format("sort of {} pairs on {}", count, device.name), plan_sort(shape, device.traits));
      shape.segment_count = Count::on_host(count / 50);
      sink.add(std::format("sort of {} pairs in segments on {}", count, device.name), plan_sort(shape, device.traits));
    }
  }
}

}  // namespace upsweep
