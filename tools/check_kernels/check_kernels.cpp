// SPDX-License-Identifier: Apache-2.0
// Writes every kernel that planners can name into a folder, each distinct text once, for compilers to check. Fails if a
// plan that should exist does not, if a text breaks the project's rules, or if an embedded .wgsl file is in no kernel.
//   check_kernels FOLDER          the folder is emptied first
//   check_kernels --rules FILE... the rules only
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <print>
#include <span>
#include <string>

#include "kernel_sink.h"
#include "plan/embedded.h"

namespace upsweep {
namespace {

struct Family {
  const char* name;
  void (*add)(KernelSink&);
};

// One line a primitive.
constexpr std::array families{
    Family{"core", add_core_kernels},
    Family{"reduce", add_reduce_kernels},
    Family{"scan", add_scan_kernels},
    Family{"select", add_select_kernels},
    Family{"partition", add_partition_kernels},
    Family{"unique", add_unique_kernels},
    Family{"run_length", add_run_length_kernels},
    Family{"reduce_by_key", add_reduce_by_key_kernels},
    Family{"adjacent_difference", add_adjacent_difference_kernels},
    Family{"histogram", add_histogram_kernels},
    Family{"sort", add_sort_kernels},
    Family{"orders", add_order_kernels},
    Family{"top_k", add_top_k_kernels},
    Family{"sparse_convert", add_sparse_convert_kernels},
    Family{"spmv", add_spmv_kernels},
    Family{"solvers", add_solver_kernels},
};

int write_kernels(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".wgsl") std::filesystem::remove(entry.path());
  }
  KernelSink sink(folder);
  for (const Family& family : families) {
    const std::size_t texts = sink.text_count();
    const std::size_t plans = sink.plan_count();
    const std::size_t refused = sink.refused_count();
    family.add(sink);
    std::println("{:<19} {:6} plans, {:6} distinct kernels, {:4} requests refused as they should be", family.name,
                 sink.plan_count() - plans, sink.text_count() - texts, sink.refused_count() - refused);
  }
  for (const EmbeddedFile& file : embedded_files()) {
    if (!sink.origins().contains(std::string(file.name))) sink.fail(std::string(file.path) + " is in no kernel");
    for (const std::string& rule : broken_rules(file.text)) sink.fail(std::string(file.path) + ": " + rule);
  }
  for (const std::string& failure : sink.failures()) std::println(stderr, "{}", failure);
  return sink.failures().empty() && sink.text_count() > 0 ? 0 : 1;
}

int check_rules(std::span<char*> paths) {
  int broken = 0;
  for (const char* path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) std::println(stderr, "{} cannot be read", path);
    for (const std::string& rule : broken_rules(text)) {
      std::println(stderr, "{}: {}", path, rule);
      ++broken;
    }
  }
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace upsweep

int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape): a fault ends it
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() > 2 && std::string(arguments[1]) == "--rules") {
    return upsweep::check_rules(arguments.subspan(2));
  }
  if (arguments.size() != 2) {
    std::println(stderr, "usage: check_kernels FOLDER | check_kernels --rules FILE...");
    return 2;
  }
  std::filesystem::create_directories(arguments[1]);
  return upsweep::write_kernels(arguments[1]);
}
