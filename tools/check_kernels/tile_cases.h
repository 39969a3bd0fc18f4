// SPDX-License-Identifier: Apache-2.0
// Factors of every primitive that is a scan underneath.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "combinations.h"
#include "kernel_cases.h"
#include "upsweep/count.h"
#include "upsweep/scan_tuning.h"

namespace upsweep {

// Where windows are asked for: what a binding holds, and bytes of the input.
constexpr std::uint64_t window_binding_bytes = 65536;
constexpr std::uint64_t window_input_bytes = 163840;

struct TileCase {
  Item item = {ElementType::u32(), "u32"};
  DeviceTraits traits = all_traits().front().traits;
  // Small, since the text grows with the rows; subgroups of 128 are whole.
  ScanTuning tuning = {.path = ScanPath::two_pass, .workgroup_size = 128, .rows = 2};
  std::uint64_t item_count = 70000;
  bool has_windows = false;
  // Where each output must fit into one binding, windows come from an input that fills one but does not begin with it.
  bool fills_binding = false;
  bool counts_on_device = false;
  bool begins_late = false;  // the input does, the output does not: no vectors where they must begin alike

  [[nodiscard]] std::uint64_t items() const {
    if (fills_binding) return window_binding_bytes / item.type.stride_bytes;
    return has_windows ? window_input_bytes / item.type.stride_bytes : item_count;
  }
  [[nodiscard]] Count count() const { return counts_on_device ? Count::on_device(items()) : Count::on_host(items()); }
  [[nodiscard]] DeviceTraits device() const {
    DeviceTraits device = traits;
    if (has_windows || fills_binding) device.max_binding_bytes = window_binding_bytes;
    return device;
  }
  [[nodiscard]] ScanOffsets offsets() const {
    return {.input_bytes = begins_late || fills_binding ? item.type.stride_bytes : 0};
  }
  [[nodiscard]] bool is_single_pass() const { return tuning.path == ScanPath::single_pass; }
  // Whether the state of a single pass has a record for each tile; tiny tiles are too many for a small binding.
  [[nodiscard]] bool state_fits() const {
    return !(has_windows || fills_binding) || tuning.workgroup_size * tuning.rows >= 128;
  }
};

template <typename Case>
Factor<Case> item_factor(const std::vector<Item>& items) {
  Factor<Case> factor;
  for (const Item& item : items) factor.push_back({item.type.name, [item](Case& c) { c.item = item; }});
  return factor;
}

template <typename Case>
Factor<Case> device_factor() {
  Factor<Case> factor;
  for (const NamedTraits& device : all_traits()) {
    factor.push_back({device.name, [device](Case& c) { c.traits = device.traits; }});
  }
  return factor;
}

template <typename Case>
Factor<Case> path_factor() {
  return {{"two passes", [](Case&) {}},
          {"single pass", [](Case& c) { c.tuning.path = ScanPath::single_pass; }},
          {"single pass in order", [](Case& c) {
             c.tuning.path = ScanPath::single_pass;
             c.tuning.in_order = true;
           }}};
}

// Single passes whose tiles are shuffled, or whose look-back is broken.
template <typename Case>
Factor<Case> test_factor() {
  return {{"shuffled tiles",
           [](Case& c) {
             c.tuning.path = ScanPath::single_pass;
             c.traits.test_shuffled_tiles = true;
           }},
          {"broken look-back", [](Case& c) {
             c.tuning.path = ScanPath::single_pass;
             c.traits.test_broken_look_back = true;
           }}};
}

template <typename Case>
Factor<Case> size_factor() {
  return {{"70000 items", [](Case&) {}}, {"3000 items", [](Case& c) { c.item_count = 3000; }}, {"windows", [](Case& c) {
                                                                                                  c.has_windows = true;
                                                                                                }}};
}

template <typename Case>
Factor<Case> one_binding_size_factor() {
  return {{"70000 items", [](Case&) {}},
          {"3000 items", [](Case& c) { c.item_count = 3000; }},
          {"a full binding", [](Case& c) { c.fills_binding = true; }}};
}

template <typename Case>
Factor<Case> tuning_factor() {
  const auto shape = [](std::uint32_t workgroup_size, std::uint32_t rows) {
    return [workgroup_size, rows](Case& c) {
      c.tuning.workgroup_size = workgroup_size;
      c.tuning.rows = rows;
    };
  };
  return {{"128 threads", [](Case&) {}},
          {"no vectors", [](Case& c) { c.tuning.use_vectors = false; }},
          {"no subgroups", [](Case& c) { c.tuning.use_subgroups = false; }},
          {"4 threads x 2", shape(4, 2)},
          {"one thread", shape(1, 1)},
          {"256 threads x 8", shape(256, 8)},
          {"64 threads x 16", shape(64, 16)},
          {"128 threads x 3, no polls", [](Case& c) {
             c.tuning.rows = 3;
             c.tuning.poll_rounds = 0;
           }}};
}

// A property that is there or not.
template <typename Case>
Factor<Case> switch_factor(std::string name, std::function<void(Case&)> set) {
  return {{"", [](Case&) {}}, {std::move(name), std::move(set)}};
}

template <typename Case>
Factor<Case> count_factor() {
  return switch_factor<Case>("counted on the device", [](Case& c) { c.counts_on_device = true; });
}

template <typename Case>
Factor<Case> offset_factor() {
  return switch_factor<Case>("the input begins late", [](Case& c) { c.begins_late = true; });
}

// `fn name(a: T, ..., i: u32) -> bool` on items of any type, as WGSL text.
inline std::string any_test(const std::string& name, const std::string& parameters) {
  return "fn " + name + "(" + parameters + ") -> bool {\n  let copy = a;\n  return i % 3u == 1u;\n}\n";
}
inline Equality any_equality(const Item& item) {
  return Equality::of("is_same(a, b, 1u)",
                      any_test("is_same", "a: " + item.value_type + ", b: " + item.value_type + ", i: u32"));
}

inline std::vector<std::pair<std::string, FlagFormat>> flag_formats() {
  return {{"flags in words", FlagFormat::words},
          {"flags in bytes", FlagFormat::bytes},
          {"flags in bits", FlagFormat::bits}};
}

}  // namespace upsweep
