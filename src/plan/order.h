// SPDX-License-Identifier: Apache-2.0
// Turns an order of keys into comes_before(), and says how items lie in arrays that kernels only move or compare.
#pragma once

#include <string>
#include <string_view>

#include "plan/kernel_builder.h"
#include "upsweep/element.h"
#include "upsweep/order.h"
#include "upsweep/status.h"

namespace upsweep {

// How items are stored and moved. Halves of words stand for f16, so that no feature is needed.
struct MovedItem {
  std::string stored;  // WGSL type of the array's elements
  std::string raw;     // WGSL type of one item
  bool is_half = false;
};
MovedItem moved_item(const ElementType& type);

// `fn name(at: u32) -> raw`: an item of the array `variable`, counted from params.first_field.
std::string load_function(std::string_view name, const MovedItem& item, std::string_view variable,
                          std::string_view first_field);

// Whether the order is one of such keys; `call` begins the message: "A merge sort".
Status check_order(const ElementType& key, const KeyOrder& order, std::string_view call);

// ordered_bits(key: `type`): unsigned bits that compare as the numbers do, or the other way round; u32, of two words
// vec2u, low word first. Keys of `type` are u32 or vec2u, i32 may be itself; of scalars, and of doubles as u64.
std::string ordered_bits_text(Scalar scalar, bool is_f64, std::string_view type, bool descending = false);

// RawKey, Key; key_value(raw: RawKey) -> Key; comes_before(a: RawKey, b: RawKey) -> bool; with the caller's text.
void add_order(KernelBuilder& builder, const ElementType& key, const KeyOrder& order);

}  // namespace upsweep
