// SPDX-License-Identifier: Apache-2.0
// Kernels that no planner names: the probes and checks of Context.
#include <format>
#include <utility>

#include "kernel_sink.h"
#include "plan/kernel_builder.h"
#include "plan/lowering.h"

namespace upsweep {
namespace {

void add_built(KernelSink& sink, std::string_view what, KernelBuilder builder) {
  const auto kernel = std::move(builder).build();
  if (!kernel) {
    sink.fail(std::format("{}: {}", what, kernel.error().message));
    return;
  }
  sink.add_kernel(what, **kernel);
}

void add_probes(KernelSink& sink) {
  KernelBuilder arithmetic("probe_arithmetic");
  arithmetic.workgroup(256, 8).part("thread.wgsl").part("entry.plain.wgsl").part("probe_arithmetic.wgsl");
  add_built(sink, "probe of arithmetic", std::move(arithmetic));
  KernelBuilder subgroups("probe_subgroups");
  subgroups.enable("subgroups").workgroup(256, 0).part("probe_subgroups.wgsl");
  add_built(sink, "probe of subgroups", std::move(subgroups));
}

void add_checks(KernelSink& sink, const ElementType& type, const BinaryOperator& op) {
  KernelBuilder element("check_element");
  if (type.scalar == Scalar::f16) element.enable("f16");
  element.workgroup(1, 0).alias("Element", type.wgsl_type).caller_text("type", type.declaration);
  element.part("thread.wgsl").part("entry.plain.wgsl").part("check_element.wgsl");
  add_built(sink, std::format("check of type {}", type.name), std::move(element));

  const auto lowered = lower_operator(op, type, nullptr);
  if (!lowered) {
    sink.fail(std::format("check of operator {}: {}", to_string(op), lowered.error().message));
    return;
  }
  const StoredType stored = stored_type(type);
  KernelBuilder check("check_operator");
  if (type.scalar == Scalar::f16) check.enable("f16");
  check.workgroup(64, 0).alias("RawItem", stored.raw);
  add_operator(check, op, type, *lowered);
  check.generated("adapters", std::format("fn item_value(raw: RawItem) -> Value {{ return {}; }}\n", stored.load));
  check.part("thread.wgsl").part("entry.plain.wgsl").part("check_operator.wgsl");
  add_built(sink, std::format("check of operator {} on {}", to_string(op), type.name), std::move(check));
}

}  // namespace

void add_core_kernels(KernelSink& sink) {
  add_probes(sink);
  for (const ElementType& type : {ElementType::u32(), ElementType::i32(), ElementType::f32(), ElementType::f16(),
                                  ElementType::u64(), ElementType::i64(), ElementType::vec(Scalar::f32, 4)}) {
    add_checks(sink, type, BinaryOperator::sum());
    add_checks(sink, type, BinaryOperator::max());
  }
}

}  // namespace upsweep
