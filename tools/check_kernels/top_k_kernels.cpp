// SPDX-License-Identifier: Apache-2.0
// Kernels of top-k: every two properties meet; each key has every direction and every result.
#include <format>

#include "combinations.h"
#include "kernel_cases.h"
#include "upsweep/top_k.h"

namespace upsweep {
namespace {

struct TopKCase {
  TopKShape shape = {.item_count = Count::on_host(70000), .k = Count::on_host(1000)};
  DeviceTraits traits = all_traits().front().traits;
  // Small, since the text grows with the items; subgroups of 128 are whole.
  TopKTuning tuning = {
      .workgroup_size = 128,
      .items_per_thread = 2,
      .candidate_items = 0,
      .sort_all_items = 0,
      .compaction = {.path = ScanPath::two_pass, .workgroup_size = 128, .rows = 2},
      .sort = {.path = SortPath::three_pass, .workgroup_size = 128, .items_per_thread = 2, .one_workgroup_items = 256}};
};

bool is_possible(const TopKCase& c) {
  return c.shape.write_keys || c.shape.value || c.shape.write_indices || c.shape.write_threshold;
}

Factor<TopKCase> keys() {
  Factor<TopKCase> factor;
  for (const ElementType& type : {ElementType::u32(), ElementType::i32(), ElementType::f32(), ElementType::f16(),
                                  ElementType::u64(), ElementType::i64()}) {
    factor.push_back({type.name, [type](TopKCase& c) { c.shape.key = type; }});
  }
  factor.push_back({"f64", [](TopKCase& c) {
                      c.shape.key = ElementType::u64();
                      c.shape.key_is_f64 = true;
                    }});
  return factor;
}

Factor<TopKCase> payloads() {
  const auto values = [](const ElementType& type) { return [type](TopKCase& c) { c.shape.value = type; }; };
  return {
      {"", [](TopKCase&) {}},
      {"u32 values", values(ElementType::u32())},
      {"f16 values", values(ElementType::f16())},
      {"12-byte values", values(*ElementType::structure("Three", "struct Three { a: u32, b: u32, c: u32 }", 12, 12))}};
}

Factor<TopKCase> flag(std::string name, std::function<void(TopKCase&)> set) {
  return {{"", [](TopKCase&) {}}, {std::move(name), std::move(set)}};
}

Factor<TopKCase> orders() {
  return {{"sorted", [](TopKCase&) {}},
          {"in input order", [](TopKCase& c) { c.shape.order = TopKOrder::input_order; }},
          {"sort of all", [](TopKCase& c) { c.tuning.sort_all_items = ~0u; }},
          {"threshold alone", [](TopKCase& c) {
             c.shape.write_keys = false;
             c.shape.write_threshold = true;
           }}};
}

Factor<TopKCase> compactions() {
  return {{"two passes", [](TopKCase&) {}},
          {"single pass", [](TopKCase& c) { c.tuning.compaction.path = ScanPath::single_pass; }},
          {"four rows", [](TopKCase& c) { c.tuning.compaction.rows = 4; }},
          {"no vectors", [](TopKCase& c) { c.tuning.compaction.use_vectors = false; }},
          {"no subgroups", [](TopKCase& c) { c.tuning.compaction.use_subgroups = false; }},
          {"4 threads", [](TopKCase& c) { c.tuning.compaction.workgroup_size = 4; }}};
}

Factor<TopKCase> devices() {
  Factor<TopKCase> factor;
  for (const NamedTraits& device : all_traits()) {
    factor.push_back({device.name, [device](TopKCase& c) { c.traits = device.traits; }});
  }
  return factor;
}

}  // namespace

void add_top_k_kernels(KernelSink& sink) {
  const auto use = [&](const TopKCase& c, const std::string& name) {
    sink.add("top-k: " + name, plan_top_k(c.shape, c.traits, c.tuning));
  };
  const Factor<TopKCase> directions = flag("largest", [](TopKCase& c) { c.shape.largest = true; });
  const Factor<TopKCase> candidates = flag("no candidates", [](TopKCase& c) { c.tuning.candidate_items = ~0u; });
  const Factor<TopKCase> thresholds = flag("threshold", [](TopKCase& c) { c.shape.write_threshold = true; });
  for_each_case<TopKCase>({keys(), payloads(), directions, orders(), compactions(), devices(), candidates, thresholds,
                           flag("no keys", [](TopKCase& c) { c.shape.write_keys = false; }),
                           flag("indices", [](TopKCase& c) { c.shape.write_indices = true; }),
                           flag("count", [](TopKCase& c) { c.shape.write_count = true; }),
                           flag("items on the device", [](TopKCase& c) { c.shape.item_count.read_on_device = true; }),
                           flag("k on the device", [](TopKCase& c) { c.shape.k.read_on_device = true; }),
                           flag("digits of 4 bits", [](TopKCase& c) { c.tuning.digit_bits = 4; })},
                          choose_pairs, is_possible, use);
  for_each_case<TopKCase>({keys(), directions, orders(), candidates, thresholds}, choose_all, is_possible, use);
  // What the library takes by itself.
  for (const NamedTraits& device : all_traits()) {
    for (const std::uint64_t count : {1000u, 100'000u, 1u << 22}) {
      const TopKShape shape{.item_count = Count::on_host(count), .k = Count::on_host(100), .write_indices = true};
      sink.add(std::format("100 of {} keys on {}", count, device.name), plan_top_k(shape, device.traits));
    }
  }
}

}  // namespace upsweep
