// SPDX-License-Identifier: Apache-2.0
// Times recorded work on a device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "benchmarking/statistics.h"
#include "exec/handle.h"
#include "upsweep/context.h"
#include "upsweep/plan.h"

namespace upsweep::bench {

// Records the work once. Called many times, always with the same buffers.
using Recorder = std::function<Status(WGPUComputePassEncoder)>;

enum class Method : std::uint8_t {
  call,       // one recording in a compute pass of its own
  amortised,  // many recordings in one compute pass, divided by their number
};
std::string_view to_string(Method method);

struct Timing {
  Spread ms;                   // per recording; count = samples; a count of 0 means that it could not be timed
  std::uint32_t repeats = 1;   // recordings a sample; more than 1 for `call` only where the clock is coarse
  bool clock_was_low = false;  // the GPU did not reach the clock that it had before
};

class Harness {
 public:
  struct Settings {
    std::uint32_t samples = 15;
    // Two buffers for the copies that raise a GPU's clock, and the words to copy.
    BufferView copy_from;
    BufferView copy_to;
    std::uint64_t copy_words = 0;
  };
  static Result<std::unique_ptr<Harness>> create(Context& context, const Settings& settings);

  Result<Timing> time(Method method, const Recorder& record);
  // Submits the work once and waits. Milliseconds on the host's clock.
  Result<double> run_once(const Recorder& record);
  // Host time of one recording, in microseconds: the median of many, none of which runs.
  Result<double> record_microseconds(const Recorder& record);

  [[nodiscard]] bool has_timestamps() const { return queries_.get() != nullptr; }
  // "GPU timestamps", "wall time of ..."
  [[nodiscard]] std::string clock_name() const;
  [[nodiscard]] std::uint32_t samples() const { return samples_; }

 private:
  using QuerySetHandle = Handle<WGPUQuerySet, wgpuQuerySetAddRef, wgpuQuerySetRelease>;

  // One submission: warm-up, clock probe, samples, clock probe.
  struct Round {
    std::vector<double> totals_ms;
    double probe_ms = 0;
  };

  explicit Harness(Context& context) : context_(context) {}
  Status open_queries();
  Status find_clock();
  Result<Round> run_round(Method method, const Recorder& record, std::uint32_t repeats, std::uint32_t samples);
  Result<Round> run_wall_round(Method method, const Recorder& record, std::uint32_t repeats, std::uint32_t samples);
  Status record_copies(WGPUCommandEncoder encoder, std::optional<std::uint32_t> stamp);
  Status record_probe(WGPUCommandEncoder encoder, std::uint32_t stamp);
  // Compute passes with `repeats` recordings in all; the timestamps go to queries `stamp` and `stamp` + 1.
  Status record_sample(WGPUCommandEncoder encoder, Method method, const Recorder& record, std::uint32_t repeats,
                       std::optional<std::uint32_t> stamp);
  Status submit(EncoderHandle encoder);
  Result<std::vector<std::uint64_t>> submit_and_read(EncoderHandle encoder, std::uint32_t query_count);

  Context& context_;
  std::uint32_t samples_ = 0;
  bool is_cpu_ = false;
  QuerySetHandle queries_;
  BufferHandle resolved_;
  std::uint64_t quantum_ns_ = 0;
  BufferHandle probe_output_;
  Plan probe_;
  Plan copy_;
  Settings settings_;
  std::uint32_t warm_up_copies_ = 0;
  double fastest_probe_ms_ = 0;
};

}  // namespace upsweep::bench
