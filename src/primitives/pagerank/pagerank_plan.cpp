// SPDX-License-Identifier: Apache-2.0
// Plans of PageRank: a product and one pass over vectors an iteration. Sums pass from one iteration to the next as
// partial sums in scratch, which every workgroup of the next one folds for itself.
#include <array>
#include <bit>
#include <format>
#include <vector>

#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/plan_builder.h"
#include "plan/repeated_product.h"
#include "plan/vector_pass.h"
#include "upsweep/pagerank.h"

namespace upsweep {
namespace {

using Kernels = Result<std::shared_ptr<const Kernel>>;

constexpr std::uint64_t most_nodes = std::uint64_t{1} << 31;

Status check(const PagerankShape& shape, const SolverTuning& tuning, std::uint32_t iterations,
             const DeviceTraits& traits) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  const SparseShape& matrix = shape.incoming;
  if (matrix.row_count != matrix.column_count) {
    return refuse(std::format("PageRank needs a square matrix; this one has {} rows and {} columns.", matrix.row_count,
                              matrix.column_count));
  }
  const bool is_damping = shape.damping >= 0 && shape.damping <= 1;  // NaN is none
  if (!is_damping) {
    return refuse(std::format("A damping of {} is not from 0 to 1.", shape.damping));
  }
  if (!(shape.tolerance >= 0)) return refuse(std::format("A tolerance of {} is not 0 or more.", shape.tolerance));
  if (!VectorPass::of(tuning).is_sound()) {
    return refuse(std::format("Tuning of PageRank out of range: {}.", to_string(tuning)));
  }
  if (iterations > pagerank_most_iterations) {
    return refuse(
        std::format("{} iterations in one plan: at most {} are possible.", iterations, pagerank_most_iterations));
  }
  if (matrix.row_count > most_nodes) {
    return fail(ErrorKind::unsupported,
                std::format("{} nodes are more than PageRank takes ({}).", matrix.row_count, most_nodes));
  }
  if (matrix.row_count * std::uint64_t{4} > traits.max_binding_bytes) {
    return fail(
        ErrorKind::unsupported,
        std::format("Vectors of {} bytes are larger than the device's limit of one binding ({} bytes); PageRank "
                    "needs each in one.",
                    matrix.row_count * std::uint64_t{4}, traits.max_binding_bytes));
  }
  return {};
}

class PagerankPlanner {
 public:
  PagerankPlanner(std::string name, const PagerankShape& shape, const SolverTuning& tuning, const DeviceTraits& traits)
      : shape_(shape),
        tuning_(tuning),
        traits_(traits),
        pass_(VectorPass::of(tuning).fitted(traits)),
        nodes_(shape.incoming.row_count),
        groups_(pass_.group_count(nodes_)),
        plan_(std::move(name), traits) {}

  Result<Plan> start() && {
    note();
    state_ = plan_.argument("state", pagerank_state_bytes, 4, true);
    const SlotId sums = plan_.scratch("sums", groups_ * std::uint64_t{16});
    if (nodes_ != 0) {
      add_vectors();
      dispatch(start_kernel(), {.out = sums, .workgroups = groups_, .vectors_read = 1, .vectors_written = 2},
               "all ranks alike");
    }
    dispatch(end_kernel(), {.in = sums, .partials = groups_, .is_start = true}, "the state");
    plan_.least_bytes(nodes_ * 4 * 3);
    return std::move(plan_).finish();
  }

  Result<Plan> steps(std::uint32_t iterations) && {
    note();
    if (nodes_ == 0 || iterations == 0) return std::move(plan_).finish();
    state_ = plan_.argument("state", pagerank_state_bytes, 4, true);
    add_vectors();
    product_ = plan_.scratch("product", nodes_ * 4);
    // A pass reads those of the one before and writes its own.
    const std::array sums{plan_.scratch("even_sums", groups_ * std::uint64_t{16}),
                          plan_.scratch("odd_sums", groups_ * std::uint64_t{16})};
    RepeatedProduct product(plan_, {.matrix = shape_.incoming}, traits_, tuning_.product);
    const Kernels step = step_kernel();
    for (std::uint32_t i = 0; i < iterations; ++i) {
      product.append(plan_, scaled_, product_);
      dispatch(step,
               {.in = sums[1 - i % 2],
                .out = sums[i % 2],
                .partials = i == 0 ? 0 : groups_,
                .workgroups = groups_,
                .vectors_read = 3,
                .vectors_written = 2},
               "new ranks");
    }
    dispatch(end_kernel(), {.in = sums[1 - iterations % 2], .partials = groups_}, "the state");
    plan_.least_bytes(iterations * (product.least_bytes() + nodes_ * 4 * 5));
    return std::move(plan_).finish();
  }

 private:
  struct Pass {
    SlotId in = {};
    SlotId out = {};
    std::uint32_t partials = 0;
    std::uint32_t workgroups = 1;
    bool is_start = false;
    std::uint64_t vectors_read = 0;
    std::uint64_t vectors_written = 0;
  };

  void note() {
    plan_.note(std::format("PageRank, damping {}, tolerance {}", shape_.damping, shape_.tolerance));
    plan_.note(std::format("{} over vectors, {} threads x {} items", counted(groups_, "workgroup"),
                           pass_.workgroup_size, pass_.items_per_thread));
  }

  void add_vectors() {
    inverse_ = plan_.argument("inverse_out", nodes_ * 4, 4);
    ranks_ = plan_.argument("ranks", nodes_ * 4, 4, true);
    scaled_ = plan_.argument("scaled_ranks", nodes_ * 4, 4, true);
  }

  [[nodiscard]] KernelBuilder begin(std::string name) const {
    KernelBuilder builder = start_vector_pass(std::move(name), 4, pass_, traits_);
    builder.part("pagerank_params.wgsl");
    return builder;
  }

  static constexpr std::string_view vectors_text =
      "@group(0) @binding(4) var<storage, read> inverse_out: array<f32>;\n"
      "@group(0) @binding(5) var<storage, read_write> ranks: array<f32>;\n"
      "@group(0) @binding(6) var<storage, read_write> scaled_ranks: array<f32>;\n";
  static constexpr std::string_view store_text =
      "  ranks[params.ranks_first + i#] = n#;\n"
      "  scaled_ranks[params.scaled_first + i#] = n# * v#;\n";

  [[nodiscard]] Kernels start_kernel() const {
    KernelBuilder builder = begin("pagerank_start");
    builder.generated("vectors", vectors_text);
    add_item_functions(builder, "start", "", true, pass_,
                       {"  let v# = inverse_out[params.inverse_first + i#];\n", "  let n# = params.share;\n",
                        store_text, "  let s# = vec4f(0.0, select(0.0, n#, v# == 0.0), n#, 0.0);\n"});
    builder.part("pagerank_start.wgsl");
    return std::move(builder).build();
  }

  [[nodiscard]] Kernels step_kernel() const {
    KernelBuilder builder = begin("pagerank_step");
    builder.generated("vectors", vectors_text);
    builder.generated("vectors", "@group(0) @binding(7) var<storage, read_write> product: array<f32>;\n");
    add_item_functions(builder, "step", ", scale: f32, base: f32", true, pass_,
                       {"  let y# = product[i#];\n  let o# = ranks[params.ranks_first + i#];\n"
                        "  let v# = inverse_out[params.inverse_first + i#];\n",
                        "  let n# = fma(scale, y#, base);\n", store_text,
                        "  let s# = vec4f(abs(n# - o#), select(0.0, n#, v# == 0.0), n#, 0.0);\n"});
    builder.part("pagerank_step.wgsl");
    return std::move(builder).build();
  }

  [[nodiscard]] Kernels end_kernel() const {
    KernelBuilder builder = begin("pagerank_end");
    builder.part("pagerank_end.wgsl");
    return std::move(builder).build();
  }

  // Binds what the kernel declares, and gives all params.
  void dispatch(const Kernels& kernel, const Pass& pass, std::string reason) {
    if (!kernel) {
      plan_.dispatch(kernel, {});
      return;
    }
    PlanBuilder::Step step;
    const auto bind = [&](std::string_view variable, SlotId slot, std::string_view first_field) {
      if ((*kernel)->find_binding(variable) != nullptr) step.bindings.push_back({variable, slot, 0, 0, first_field});
    };
    bind("state", state_, "state_first");
    bind("partials_in", pass.in, "");
    bind("partials_out", pass.out, "");
    bind("inverse_out", inverse_, "inverse_first");
    bind("ranks", ranks_, "ranks_first");
    bind("scaled_ranks", scaled_, "scaled_first");
    bind("product", product_, "");
    const auto bits = [](double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); };
    const double count = static_cast<double>(nodes_ == 0 ? 1 : nodes_);
    step.params = {{"node_count", static_cast<std::uint32_t>(nodes_)},
                   {"group_count", groups_},
                   {"stride_items", groups_ * pass_.tile_items()},
                   {"partial_count", pass.partials},
                   {"is_start", pass.is_start ? 1u : 0u},
                   {"damping", bits(shape_.damping)},
                   {"teleport", bits((1.0 - shape_.damping) / count)},
                   {"share", bits(1.0 / count)},
                   {"tolerance", bits(shape_.tolerance)}};
    for (const std::string_view field : {"inverse_first", "ranks_first", "scaled_first", "state_first"}) {
      step.params.push_back({field, 0});
    }
    step.workgroup_count = pass.workgroups;
    step.reason = std::move(reason);
    step.bytes_read = pass.vectors_read * nodes_ * 4 + pass.partials * std::uint64_t{16};
    step.bytes_written = pass.vectors_written * nodes_ * 4;
    plan_.dispatch(kernel, std::move(step));
  }

  PagerankShape shape_;
  SolverTuning tuning_;
  DeviceTraits traits_;
  VectorPass pass_;
  std::uint64_t nodes_;
  std::uint32_t groups_;
  PlanBuilder plan_;
  SlotId state_;
  SlotId inverse_;
  SlotId ranks_;
  SlotId scaled_;
  SlotId product_;
};

}  // namespace

Result<Plan> plan_pagerank_start(const PagerankShape& shape, const DeviceTraits& traits,
                                 std::optional<SolverTuning> tuning) {
  const SolverTuning chosen = tuning.value_or(select_solver_tuning(traits));
  if (const Status ok = check(shape, chosen, 0, traits); !ok) return std::unexpected(ok.error());
  return PagerankPlanner("pagerank_start", shape, chosen, traits).start();
}

Result<Plan> plan_pagerank_steps(const PagerankShape& shape, std::uint32_t iterations, const DeviceTraits& traits,
                                 std::optional<SolverTuning> tuning) {
  const SolverTuning chosen = tuning.value_or(select_solver_tuning(traits));
  if (const Status ok = check(shape, chosen, iterations, traits); !ok) return std::unexpected(ok.error());
  return PagerankPlanner("pagerank_steps", shape, chosen, traits).steps(iterations);
}

}  // namespace upsweep
