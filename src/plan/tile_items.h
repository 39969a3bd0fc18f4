// SPDX-License-Identifier: Apache-2.0
// Items of a scan's input and output: how units of 1, 2 or 4 of them are loaded and stored.
#pragma once

#include <cstdint>
#include <string>

#include "plan/kernel_builder.h"
#include "upsweep/element.h"
#include "upsweep/scan_tuning.h"

namespace upsweep {

// How many items of a type fit into 16 bytes of a vector; 1 for types that do not go into vectors.
std::uint32_t unit_items_of(const ElementType& type);

// The WGSL type of `unit_items` items as one vector, or of one item.
std::string unit_type(const ElementType& type, std::uint32_t unit_items);

// The expression of item `k`, in memory order, of a unit.
std::string unit_item(const ElementType& type, std::uint32_t unit_items, const std::string& unit, std::uint32_t k);

struct TileItems {
  ElementType type;
  std::uint32_t unit_items = 1;
  bool reverse = false;
  bool in_place = false;     // the output is the input: both are counted from input_first
  bool from_output = false;  // loads what the output's bindings hold

  // Memory order of item k of a unit.
  [[nodiscard]] std::uint32_t memory_item(std::uint32_t k) const { return reverse ? unit_items - 1 - k : k; }
  // The raw item k, in the order of positions, of a RawUnit.
  [[nodiscard]] std::string item(const std::string& unit, std::uint32_t k) const {
    return unit_item(type, unit_items, unit, memory_item(k));
  }
};

// RawItem, Item, item_value(); RawUnit; load_item(position, range) -> RawItem; load_items(unit, range) -> RawUnit;
// load_ends(range) -> Ends, load_edge_items(unit, ends, range) -> RawUnit: what lies outside the row is any item of it;
// no branches, since subgroup operations follow. load_items_apart(unit, range) is as good, one load an item, in fewer
// registers. Bindings `input` and `input_units` (1, 2), params input_first.
void add_tile_items(KernelBuilder& builder, const TileItems& items);

// store_items(values..., unit, is_full, range) for `unit_items` raw values v0, v1, ... in the order of positions.
// Bindings `output` (3), or `output_units` and `output_tail` (4, 5); params output_first, tail_first, tail_items.
void add_tile_output(KernelBuilder& builder, const ElementType& output, const TileItems& items);

// Structs need an equality of the caller's.
Status check_equality(const ElementType& type, const Equality& equality);
// `fn name(a: Type, b: Type) -> bool`, with the caller's text; Type is what expressions of `type` see. For an equality
// that was checked.
void add_equality(KernelBuilder& builder, std::string_view name, const ElementType& type, const Equality& equality);

// Items whose flags share a word.
std::uint32_t items_per_flag_word(FlagFormat format);

// `fn name(index: u32) -> bool` of a flag buffer `variable` bound from word `params.first_field`.
std::string flag_function(const std::string& name, FlagFormat format, const std::string& variable,
                          const std::string& first_field);

}  // namespace upsweep
