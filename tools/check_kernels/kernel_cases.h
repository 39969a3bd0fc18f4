// SPDX-License-Identifier: Apache-2.0
// What the families of kernels are tried with: types, operators, devices.
#pragma once

#include <string>
#include <vector>

#include "kernel_sink.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/operator.h"

namespace upsweep {

struct NamedTraits {
  const char* name;
  DeviceTraits traits;
};

struct Item {
  ElementType type;
  std::string value_type;  // as operators and transforms see it
};

// Devices on which planners choose other ways through a workgroup. All have f16, so that every type exists on all.
std::vector<NamedTraits> all_traits();
std::vector<Item> built_in_items();
std::vector<Item> structs(KernelSink& sink);
std::vector<BinaryOperator> well_known_operators();
// The simplest operators of any type: one that claims to commute, so that those paths are taken, and one that does not.
BinaryOperator custom_operator(const Item& item, bool commutative);
bool is_arg(const BinaryOperator& op);
// The documented table of operators and types, told apart from the planners' own.
bool is_defined(const BinaryOperator& op, const ElementType& type);
ConstantValue zeros(const ElementType& type);

}  // namespace upsweep
