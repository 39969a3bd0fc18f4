// SPDX-License-Identifier: Apache-2.0
// A product within the plan of an iteration, appended as often as needed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan_builder.h"
#include "upsweep/spmv.h"

namespace upsweep {

class RepeatedProduct {
 public:
  // The arguments of the matrix become arguments of `plan`.
  RepeatedProduct(PlanBuilder& plan, const SpmvShape& shape, const DeviceTraits& traits,
                  const std::optional<SpmvTuning>& tuning)
      : product_(plan_spmv(shape, traits, tuning)) {
    if (!product_) return;
    for (const ArgumentSlot& argument : product_->arguments) {
      if (argument.name == "y" || argument.name == "x") continue;
      matrix_.push_back({argument.name, plan.argument(argument.name, argument.size_bytes, argument.stride_bytes)});
    }
  }

  RepeatedProduct(const RepeatedProduct&) = delete;
  RepeatedProduct& operator=(const RepeatedProduct&) = delete;

  // y = A x, or the error of the product's own plan.
  void append(PlanBuilder& plan, SlotId x, SlotId y) {
    std::vector<PlanBuilder::Outer> outer = matrix_;
    outer.push_back({"x", x});
    outer.push_back({"y", y});
    plan.append(product_, outer);
    if (product_) product_->notes.clear();  // said once
  }

  [[nodiscard]] std::uint64_t least_bytes() const { return product_ ? product_->least_bytes : 0; }

 private:
  Result<Plan> product_;
  std::vector<PlanBuilder::Outer> matrix_;  // names lie in product_
};

}  // namespace upsweep
