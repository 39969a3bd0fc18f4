// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/harness.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <format>
#include <limits>

#include "benchmarking/bench_plans.h"
#include "plan/grid.h"

namespace upsweep::bench {
namespace {

// A GPU idles at a fraction of its clock and falls back within a host's wait, so every submission that is timed begins
// with this much work of its own.
constexpr double warm_up_ms = 120;
constexpr std::uint32_t most_warm_up_copies = 4096;
constexpr std::uint32_t untimed_recordings = 3;
// A probe slower than the fastest one by more than this means a low clock.
constexpr double low_clock = 0.9;
constexpr std::uint32_t most_rounds = 3;
// About 0.3 ms at 2 GHz.
constexpr std::uint32_t probe_multiplies = 1u << 17;

constexpr double amortised_ms = 5;
constexpr double wall_ms = 20;
constexpr double least_quanta = 50;
constexpr std::uint32_t most_repeats = 4096;
constexpr std::uint32_t most_samples = 1000;
constexpr std::uint32_t cpu_samples = 5;
constexpr std::uint32_t quantum_passes = 32;
constexpr std::uint32_t query_capacity = 2 * most_samples + 4;
constexpr std::uint32_t copy_workgroups = 4096;

using HostClock = std::chrono::steady_clock;

double milliseconds_since(HostClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(HostClock::now() - begin).count();
}

// A compute pass that writes up to two timestamps.
class Pass {
 public:
  Pass(WGPUCommandEncoder encoder, WGPUQuerySet queries, std::optional<std::uint32_t> begin,
       std::optional<std::uint32_t> end) {
    WGPUPassTimestampWrites stamps = WGPU_PASS_TIMESTAMP_WRITES_INIT;
    stamps.querySet = queries;
    if (begin) stamps.beginningOfPassWriteIndex = *begin;
    if (end) stamps.endOfPassWriteIndex = *end;
    WGPUComputePassDescriptor descriptor = WGPU_COMPUTE_PASS_DESCRIPTOR_INIT;
    descriptor.label = to_wgpu("upsweep bench");
    if (begin || end) descriptor.timestampWrites = &stamps;
    pass_ = PassHandle(wgpuCommandEncoderBeginComputePass(encoder, &descriptor));
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  ~Pass() { wgpuComputePassEncoderEnd(pass_.get()); }
  [[nodiscard]] WGPUComputePassEncoder get() const { return pass_.get(); }

 private:
  PassHandle pass_;
};

}  // namespace

std::string_view to_string(Method method) { return method == Method::call ? "call" : "amortised"; }

Result<std::unique_ptr<Harness>> Harness::create(Context& context, const Settings& settings) {
  std::unique_ptr<Harness> harness(new Harness(context));
  const DeviceTraits& traits = context.traits();
  harness->settings_ = settings;
  harness->is_cpu_ = traits.is_cpu;
  harness->samples_ = std::clamp(settings.samples, 1u, most_samples);
  if (traits.is_cpu) harness->samples_ = std::min(harness->samples_, cpu_samples);

  const std::uint64_t copy_groups =
      std::min<std::uint64_t>(copy_workgroups, div_ceil(settings.copy_words / 4, bench_workgroup_size(traits)));
  auto copy = plan_copy(settings.copy_words, copy_groups, traits);
  if (!copy) return std::unexpected(copy.error());
  auto probe = plan_probe(probe_multiplies, traits);
  if (!probe) return std::unexpected(probe.error());
  harness->copy_ = std::move(*copy);
  harness->probe_ = std::move(*probe);
  auto output = context.create_buffer(probe_bytes, "bench probe");
  if (!output) return std::unexpected(output.error());
  harness->probe_output_ = BufferHandle(*output);
  if (const Status ok = context.prepare(harness->copy_); !ok) return std::unexpected(ok.error());
  if (const Status ok = context.prepare(harness->probe_); !ok) return std::unexpected(ok.error());

  if (traits.timestamps) {
    if (const Status ok = harness->open_queries(); !ok) return std::unexpected(ok.error());
  }
  if (!traits.is_cpu) {
    if (const Status ok = harness->find_clock(); !ok) return std::unexpected(ok.error());
  }
  return harness;
}

Status Harness::open_queries() {
  WGPUQuerySetDescriptor descriptor = WGPU_QUERY_SET_DESCRIPTOR_INIT;
  descriptor.label = to_wgpu("upsweep bench");
  descriptor.type = WGPUQueryType_Timestamp;
  descriptor.count = query_capacity;
  queries_ = QuerySetHandle(wgpuDeviceCreateQuerySet(context_.device(), &descriptor));
  WGPUBufferDescriptor buffer = WGPU_BUFFER_DESCRIPTOR_INIT;
  buffer.label = to_wgpu("upsweep bench timestamps");
  buffer.size = std::uint64_t{query_capacity} * 8;
  buffer.usage = WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc;
  resolved_ = BufferHandle(wgpuDeviceCreateBuffer(context_.device(), &buffer));

  EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context_.device(), nullptr));
  for (std::uint32_t i = 0; i < quantum_passes; ++i) {
    if (const Status ok = record_probe(encoder.get(), 2 * i); !ok) return ok;
  }
  const auto stamps = submit_and_read(std::move(encoder), 2 * quantum_passes);
  if (!stamps) return std::unexpected(stamps.error());
  quantum_ns_ = timestamp_quantum(*stamps);
  // Timestamps that stand still are of no use.
  if (quantum_ns_ == 0) queries_ = QuerySetHandle();
  return {};
}

Status Harness::find_clock() {
  warm_up_copies_ = 16;
  double copies_ms = 0;
  for (std::uint32_t attempt = 0; attempt < 4; ++attempt) {
    EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context_.device(), nullptr));
    if (!has_timestamps()) {
      const auto begin = HostClock::now();
      if (const Status ok = record_copies(encoder.get(), std::nullopt); !ok) return ok;
      if (const Status ok = submit(std::move(encoder)); !ok) return ok;
      copies_ms = milliseconds_since(begin);
    } else {
      if (const Status ok = record_copies(encoder.get(), 0); !ok) return ok;
      if (const Status ok = record_probe(encoder.get(), 2); !ok) return ok;
      const auto stamps = submit_and_read(std::move(encoder), 4);
      if (!stamps) return std::unexpected(stamps.error());
      const std::vector<double> ms = pair_milliseconds(*stamps);
      if (ms.size() != 2) continue;
      copies_ms = ms[0];
      if (fastest_probe_ms_ == 0 || ms[1] < fastest_probe_ms_) fastest_probe_ms_ = ms[1];
    }
    warm_up_copies_ =
        std::max(warm_up_copies_, next_repeats(warm_up_copies_, copies_ms, warm_up_ms, most_warm_up_copies));
  }
  return {};
}

Status Harness::record_copies(WGPUCommandEncoder encoder, std::optional<std::uint32_t> stamp) {
  const std::array arguments{Argument{"input", settings_.copy_from}, Argument{"output", settings_.copy_to}};
  const Pass pass(encoder, queries_.get(), stamp, stamp ? std::optional(*stamp + 1) : std::nullopt);
  for (std::uint32_t i = 0; i < warm_up_copies_; ++i) {
    if (const Status ok = context_.record(pass.get(), copy_, arguments); !ok) return ok;
  }
  return {};
}

Status Harness::record_probe(WGPUCommandEncoder encoder, std::uint32_t stamp) {
  // Coarse timestamps need a longer chain.
  const std::uint32_t repeats = is_cpu_ || quantum_ns_ < 10'000 ? 1 : 16;
  const std::array arguments{Argument{"output", probe_output_.get()}};
  const Pass pass(encoder, queries_.get(), stamp, stamp + 1);
  for (std::uint32_t i = 0; i < repeats; ++i) {
    if (const Status ok = context_.record(pass.get(), probe_, arguments); !ok) return ok;
  }
  return {};
}

Status Harness::record_sample(WGPUCommandEncoder encoder, Method method, const Recorder& record, std::uint32_t repeats,
                              std::optional<std::uint32_t> stamp) {
  const std::uint32_t passes = method == Method::call ? repeats : 1;
  const std::uint32_t recordings = method == Method::call ? 1 : repeats;
  for (std::uint32_t p = 0; p < passes; ++p) {
    const auto begin = p == 0 ? stamp : std::nullopt;
    const auto end = stamp && p + 1 == passes ? std::optional(*stamp + 1) : std::nullopt;
    const Pass pass(encoder, queries_.get(), begin, end);
    for (std::uint32_t r = 0; r < recordings; ++r) {
      if (const Status ok = record(pass.get()); !ok) return ok;
    }
  }
  return {};
}

Status Harness::submit(EncoderHandle encoder) {
  const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
  const WGPUCommandBuffer list = commands.get();
  wgpuQueueSubmit(context_.queue(), 1, &list);
  if (const Status ok = context_.wait(); !ok) return ok;
  if (auto error = context_.take_error()) return std::unexpected(std::move(*error));
  return {};
}

Result<std::vector<std::uint64_t>> Harness::submit_and_read(EncoderHandle encoder, std::uint32_t query_count) {
  wgpuCommandEncoderResolveQuerySet(encoder.get(), queries_.get(), 0, query_count, resolved_.get(), 0);
  if (const Status ok = submit(std::move(encoder)); !ok) return std::unexpected(ok.error());
  const auto bytes = context_.read(resolved_.get(), std::uint64_t{query_count} * 8);
  if (!bytes) return std::unexpected(bytes.error());
  std::vector<std::uint64_t> stamps(query_count);
  std::memcpy(stamps.data(), bytes->data(), bytes->size());
  return stamps;
}

Result<Harness::Round> Harness::run_round(Method method, const Recorder& record, std::uint32_t repeats,
                                          std::uint32_t samples) {
  if (!has_timestamps()) return run_wall_round(method, record, repeats, samples);
  EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context_.device(), nullptr));
  if (!is_cpu_) {
    if (const Status ok = record_copies(encoder.get(), std::nullopt); !ok) return std::unexpected(ok.error());
    if (const Status ok = record_probe(encoder.get(), 0); !ok) return std::unexpected(ok.error());
  }
  const std::uint32_t untimed = is_cpu_ ? 1 : untimed_recordings;
  if (const Status ok = record_sample(encoder.get(), Method::amortised, record, untimed, std::nullopt); !ok) {
    return std::unexpected(ok.error());
  }
  // Queries: the probe before, the probe after, the samples. CPU adapters have samples only.
  const std::uint32_t first = is_cpu_ ? 0 : 4;
  for (std::uint32_t s = 0; s < samples; ++s) {
    if (const Status ok = record_sample(encoder.get(), method, record, repeats, first + 2 * s); !ok) {
      return std::unexpected(ok.error());
    }
  }
  if (!is_cpu_) {
    if (const Status ok = record_probe(encoder.get(), 2); !ok) return std::unexpected(ok.error());
  }
  const auto stamps = submit_and_read(std::move(encoder), first + 2 * samples);
  if (!stamps) return std::unexpected(stamps.error());
  const std::span<const std::uint64_t> all(*stamps);
  Round round;
  round.totals_ms = pair_milliseconds(all.subspan(first));
  const std::vector<double> probes = pair_milliseconds(all.first(first));
  if (!probes.empty()) round.probe_ms = std::ranges::max(probes);
  return round;
}

// Without timestamps: submit, wait, look at the host's clock.
Result<Harness::Round> Harness::run_wall_round(Method method, const Recorder& record, std::uint32_t repeats,
                                               std::uint32_t samples) {
  if (!is_cpu_) {
    EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context_.device(), nullptr));
    if (const Status ok = record_copies(encoder.get(), std::nullopt); !ok) return std::unexpected(ok.error());
    if (const Status ok = submit(std::move(encoder)); !ok) return std::unexpected(ok.error());
  }
  Round round;
  for (std::uint32_t s = 0; s < samples + 1; ++s) {
    EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context_.device(), nullptr));
    if (const Status ok = record_sample(encoder.get(), method, record, repeats, std::nullopt); !ok) {
      return std::unexpected(ok.error());
    }
    const auto begin = HostClock::now();
    if (const Status ok = submit(std::move(encoder)); !ok) return std::unexpected(ok.error());
    // The first one warms up.
    if (s != 0) round.totals_ms.push_back(milliseconds_since(begin));
  }
  return round;
}

Result<Timing> Harness::time(Method method, const Recorder& record) {
  double target_ms = wall_ms;
  if (has_timestamps()) {
    target_ms = std::max(method == Method::amortised ? amortised_ms : 0.0,
                         least_quanta * static_cast<double>(quantum_ns_) * 1e-6);
  }
  Timing timing;
  double probe_ms = std::numeric_limits<double>::max();
  for (std::uint32_t attempt = 0; attempt < most_rounds;) {
    auto round = run_round(method, record, timing.repeats, samples_);
    if (!round) return std::unexpected(round.error());
    const std::uint32_t wanted =
        next_repeats(timing.repeats, spread_of(round->totals_ms).median, target_ms, most_repeats);
    if (attempt == 0 && wanted != timing.repeats) {
      timing.repeats = wanted;
      continue;
    }
    // The round with the highest clock stands.
    if (attempt == 0 || round->probe_ms < probe_ms) {
      probe_ms = round->probe_ms;
      for (double& total : round->totals_ms) total /= timing.repeats;
      timing.ms = spread_of(std::move(round->totals_ms));
    }
    ++attempt;
    if (probe_ms == 0) break;
    if (fastest_probe_ms_ == 0 || probe_ms < fastest_probe_ms_) fastest_probe_ms_ = probe_ms;
    timing.clock_was_low = probe_ms * low_clock > fastest_probe_ms_;
    if (!timing.clock_was_low) break;
  }
  if (timing.ms.max == 0) timing.ms = {};
  return timing;
}

Result<double> Harness::run_once(const Recorder& record) {
  EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context_.device(), nullptr));
  if (const Status ok = record_sample(encoder.get(), Method::call, record, 1, std::nullopt); !ok) {
    return std::unexpected(ok.error());
  }
  const auto begin = HostClock::now();
  if (const Status ok = submit(std::move(encoder)); !ok) return std::unexpected(ok.error());
  return milliseconds_since(begin);
}

Result<double> Harness::record_microseconds(const Recorder& record) {
  constexpr int recordings = 101;
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context_.device(), nullptr));
  std::vector<double> microseconds;
  {
    const Pass pass(encoder.get(), nullptr, std::nullopt, std::nullopt);
    for (int i = 0; i < recordings; ++i) {
      const auto begin = HostClock::now();
      if (const Status ok = record(pass.get()); !ok) return std::unexpected(ok.error());
      microseconds.push_back(milliseconds_since(begin) * 1e3);
    }
  }
  return spread_of(std::move(microseconds)).median;
}

std::string Harness::clock_name() const {
  if (!has_timestamps()) return "wall time of repeated work (no GPU timestamps)";
  if (quantum_ns_ < 10'000) return "GPU timestamps";
  return std::format("GPU timestamps in steps of {} us", quantum_ns_ / 1000);
}

}  // namespace upsweep::bench
