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
  // Their tiles are made here, once for all of them.
  RepeatedProduct(PlanBuilder& plan, SpmvShape shape, const DeviceTraits& traits,
                  const std::optional<SpmvTuning>& tuning) {
    shape.has_tiles = shape.matrix.format == SparseFormat::csr;
    product_ = plan_spmv(shape, traits, tuning);
    if (!product_) return;
    for (const ArgumentSlot& argument : product_->arguments) {
      if (argument.name == "y" || argument.name == "x") continue;
      const SlotId slot = argument.name == "tiles"
                              ? plan.scratch(argument.name, argument.size_bytes)
                              : plan.argument(argument.name, argument.size_bytes, argument.stride_bytes);
      matrix_.push_back({argument.name, slot});
    }
    if (product_->find_argument("tiles") == nullptr) return;
    auto tiles = plan_spmv_tiles(shape, traits, tuning);
    std::vector<PlanBuilder::Outer> outer;
    for (const PlanBuilder::Outer& slot : matrix_) {
      if (slot.name == "row_offsets" || slot.name == "tiles") outer.push_back(slot);
    }
    if (tiles) tiles->notes.clear();  // the product says as much
    plan.append(tiles, outer);
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
  Result<Plan> product_ = Plan{};
  std::vector<PlanBuilder::Outer> matrix_;  // names lie in product_
};

}  // namespace upsweep
