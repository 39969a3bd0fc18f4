// SPDX-License-Identifier: Apache-2.0
// Collects the kernels of plans, each distinct text once, and writes them to a folder.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/plan.h"

namespace upsweep {

class KernelSink {
 public:
  explicit KernelSink(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Kernels of a plan that has to exist; `what` names it in messages.
  void add(std::string_view what, const Result<Plan>& plan);
  // A request that the planner has to refuse.
  void expect_refused(std::string_view what, const Result<Plan>& plan);
  void add_kernel(std::string_view what, const Kernel& kernel);
  void fail(std::string message) { failures_.push_back(std::move(message)); }

  [[nodiscard]] std::size_t text_count() const { return texts_.size(); }
  [[nodiscard]] std::size_t plan_count() const { return plan_count_; }
  [[nodiscard]] std::size_t refused_count() const { return refused_count_; }
  [[nodiscard]] const std::set<std::string>& origins() const { return origins_; }
  [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::string> texts_;  // text to file name
  std::set<std::string> origins_;             // parts that some text contains
  std::vector<std::string> failures_;
  std::size_t plan_count_ = 0;
  std::size_t refused_count_ = 0;
};

// What is wrong with a text by the project's own rules for kernels; empty if nothing is.
std::vector<std::string> broken_rules(std::string_view text);

// One function a primitive, listed in check_kernels.cpp.
void add_core_kernels(KernelSink& sink);
void add_reduce_kernels(KernelSink& sink);
void add_scan_kernels(KernelSink& sink);
void add_select_kernels(KernelSink& sink);
void add_partition_kernels(KernelSink& sink);
void add_unique_kernels(KernelSink& sink);
void add_run_length_kernels(KernelSink& sink);
void add_reduce_by_key_kernels(KernelSink& sink);
void add_adjacent_difference_kernels(KernelSink& sink);
void add_histogram_kernels(KernelSink& sink);
void add_sort_kernels(KernelSink& sink);
void add_order_kernels(KernelSink& sink);
void add_sparse_convert_kernels(KernelSink& sink);
void add_spmv_kernels(KernelSink& sink);
void add_solver_kernels(KernelSink& sink);
void add_top_k_kernels(KernelSink& sink);

}  // namespace upsweep
