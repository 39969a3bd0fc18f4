// SPDX-License-Identifier: Apache-2.0
// The ladders of benchmarking/ladder for the page: their steps, what each step runs on the device, the loops of the CPU
// and the check of what came out. web/page/src/ladders.ts is the other side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarking/input.h"
#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/status.h"

namespace upsweep::web {

struct LadderStep {
  std::string id;
  std::string title;
  bool on_cpu = false;
  std::string refusal = {};  // why it is not to be had in a page at all
};

// A buffer that steps share. A plan fills it (its argument `output`), or bytes, or nothing.
struct LadderBuffer {
  std::string name;
  std::uint64_t size_bytes = 0;
  std::optional<Plan> fill = std::nullopt;
  std::span<const std::byte> bytes = {};
};

struct BoundPlan {
  struct Argument {
    std::string name;
    std::string buffer;
  };
  Plan plan;
  std::vector<Argument> arguments;
};

struct LadderWork {
  BoundPlan run;
  std::vector<LadderBuffer> buffers;
  std::vector<BoundPlan> before = {};  // once, and not timed
};

// The result is in this buffer.
constexpr std::string_view output_name = "output";

// What is the same for all steps.
struct LadderSize {
  std::uint64_t item_count = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t bytes_moved = 0;  // that any implementation must move
  std::uint64_t flops = 0;        // where the work is counted in them
};

class Ladder {
 public:
  Ladder() = default;
  virtual ~Ladder() = default;
  Ladder(const Ladder&) = delete;
  Ladder& operator=(const Ladder&) = delete;

  [[nodiscard]] virtual std::string_view unit() const = 0;
  // The library's step is the last.
  [[nodiscard]] virtual std::vector<LadderStep> steps() const = 0;
  // Makes what all steps need of a size, once.
  virtual LadderSize set_size(std::uint64_t item_count) = 0;
  // Of the last size, as all that follows.
  [[nodiscard]] virtual Result<LadderWork> work(std::string_view step, const DeviceTraits& traits) = 0;
  // A step of the CPU, so often; its result is kept.
  virtual void run_on_cpu(std::uint32_t repeats) = 0;
  [[nodiscard]] virtual std::span<const std::uint32_t> cpu_result() const = 0;
  // The words of a result, piece by piece.
  virtual void begin_check() = 0;
  virtual void check(std::span<const std::uint32_t> words) = 0;
  [[nodiscard]] virtual bench::Verdict end_check() = 0;
};

std::unique_ptr<Ladder> reduce_ladder();
std::unique_ptr<Ladder> scan_ladder();
std::unique_ptr<Ladder> histogram_ladder();
std::unique_ptr<Ladder> sort_ladder();
std::unique_ptr<Ladder> spmv_ladder();

}  // namespace upsweep::web
