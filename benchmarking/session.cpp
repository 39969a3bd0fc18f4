// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/session.h"

#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <ostream>

#include "benchmarking/bench_plans.h"
#include "plan/grid.h"

namespace upsweep::bench {
namespace {

// On a GPU the same words as the CUB peer's.
constexpr std::uint64_t gpu_copy_words = 1ull << 26;
constexpr std::uint64_t gpu_read_words = 1ull << 28;
// On a CPU adapter as many as the largest input, within these bounds.
constexpr std::uint64_t least_cpu_words = 1ull << 22;
constexpr std::uint64_t most_cpu_words = 1ull << 24;

constexpr std::uint64_t pilot_items = 1ull << 20;
constexpr double longest_run_ms = 1000;
constexpr std::uint32_t poison = 0xa5a5a5a5u;

Result<BufferHandle> make_buffer(Context& context, std::uint64_t bytes, std::string_view label) {
  auto buffer = context.create_buffer(bytes, label);
  if (!buffer) return std::unexpected(buffer.error());
  return BufferHandle(*buffer);
}

}  // namespace

void Expectation::describe(Measurement& row) const {
  row.bytes_moved = bytes_moved;
  row.flops = flops;
  row.detail = detail;
}

void Progress::begin(const std::string& what) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::seconds(1)) return;
  last_ = now;
  out_ << "upsweep bench: " << what << '\n' << std::flush;
}

Result<std::unique_ptr<Session>> Session::open(Context& context, const BenchOptions& options,
                                               const std::vector<std::uint64_t>& word_counts, std::ostream& progress) {
  std::unique_ptr<Session> session(new Session(context, options, progress));
  if (const Status ok = session->make_buffers(word_counts); !ok) return std::unexpected(ok.error());
  if (const Status ok = session->fill_input(Scalar::u32); !ok) return std::unexpected(ok.error());
  session->progress_.begin("warming up");
  auto harness = Harness::create(context, {.samples = options.samples,
                                           .copy_from = session->input_.get(),
                                           .copy_to = session->copy_to_.get(),
                                           .copy_words = session->copy_words_});
  if (!harness) return with_context(harness.error(), "preparing the benchmark");
  session->harness_ = std::move(*harness);
  if (const Status ok = session->measure_rates(); !ok) return std::unexpected(ok.error());
  session->describe();
  return session;
}

Status Session::make_buffers(const std::vector<std::uint64_t>& word_counts) {
  const DeviceTraits& traits = context_.traits();
  const std::uint64_t most_words = std::min(traits.max_binding_bytes, traits.max_buffer_bytes) / 4;
  const std::uint64_t largest = word_counts.empty() ? 0 : std::ranges::max(word_counts);
  const std::uint64_t on_cpu = std::bit_floor(std::clamp(largest, least_cpu_words, most_cpu_words));
  copy_words_ = std::min(traits.is_cpu ? on_cpu : gpu_copy_words, std::bit_floor(most_words));
  read_words_ = std::min(traits.is_cpu ? on_cpu : gpu_read_words, std::bit_floor(most_words));
  std::uint64_t needed = copy_words_;
  for (const std::uint64_t word_count : word_counts) {
    if (word_count <= traits.max_buffer_bytes / 4) needed = std::max(needed, align_up(word_count, 4));
  }
  needed = std::min(needed, traits.max_buffer_bytes / 4);
  for (;;) {
    input_words_ = std::max(needed, read_words_);
    auto input = make_buffer(context_, input_words_ * 4, "bench input");
    if (input) {
      input_ = std::move(*input);
      break;
    }
    // A device with little memory reads less for the read rate.
    if (read_words_ <= needed) return std::unexpected(input.error());
    read_words_ /= 2;
  }
  auto copy_to = make_buffer(context_, copy_words_ * 4, "bench copy");
  if (!copy_to) return std::unexpected(copy_to.error());
  copy_to_ = std::move(*copy_to);
  return {};
}

Status Session::fill_input(Scalar scalar) {
  const InputKind kind = scalar == Scalar::f32 ? InputKind::floats : InputKind::words;
  if (filled_ == kind) return {};
  const auto plan = plan_fill(input_words_, kind, context_.traits());
  if (!plan) return std::unexpected(plan.error());
  if (const Status ok = run_once(*plan, input_.get()); !ok) return ok;
  filled_ = kind;
  return {};
}

Status Session::fill_runs(const BufferView& view, const Runs& runs) {
  const auto plan = plan_fill_runs(runs, context_.traits());
  if (!plan) return std::unexpected(plan.error());
  return run_once(*plan, view);
}

Status Session::run_once(const Plan& plan, const BufferView& output) {
  const std::array arguments{Argument{"output", output}};
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context_.device(), nullptr));
  if (const Status ok = context_.record(encoder.get(), plan, arguments); !ok) return ok;
  const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
  const WGPUCommandBuffer list = commands.get();
  wgpuQueueSubmit(context_.queue(), 1, &list);
  return context_.wait();
}

Result<BufferView> Session::buffer(std::string_view label, std::uint64_t word_count) {
  Buffer& entry = buffers_[std::string(label)];
  if (entry.word_count != word_count) {
    // Bind groups would keep the old one's memory.
    context_.release_bindings();
    entry = {};
    auto made = make_buffer(context_, word_count * 4, std::format("bench {}", label));
    if (!made) return std::unexpected(made.error());
    entry = {std::move(*made), word_count};
  }
  return BufferView(entry.handle.get(), 0, word_count * 4);
}

void Session::drop_buffers() {
  context_.release_bindings();
  buffers_.clear();
}

Status Session::measure_rates() {
  const RateBuffers buffers{
      .input = input_.get(), .copy_to = copy_to_.get(), .copy_words = copy_words_, .read_words = read_words_};
  progress_.begin("measuring the copy rate");
  const auto copy = measure_copy(context_, *harness_, buffers);
  if (!copy) return with_context(copy.error(), "measuring the copy rate");
  progress_.begin("measuring the read rate");
  const auto read = measure_read(context_, *harness_, buffers);
  if (!read) return with_context(read.error(), "measuring the read rate");
  report_.copy = *copy;
  report_.read = *read;
  return {};
}

void Session::describe() {
  report_.version = UPSWEEP_VERSION;
  report_.device = context_.traits().adapter;
  report_.is_cpu = context_.traits().is_cpu;
  report_.driver = context_.driver();
  report_.backend = context_.backend();
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  report_.date = std::format("{:%F}", std::chrono::sys_days(today));
  report_.clock = harness_->clock_name();
  report_.samples = harness_->samples();
}

Result<bool> Session::takes_too_long(std::uint64_t item_count, std::uint64_t pilot,
                                     const std::function<Result<Work>(std::uint64_t)>& make) {
  if (!context_.traits().is_cpu) return false;
  const auto work = make(pilot);
  if (!work) return std::unexpected(work.error());
  const auto first = harness_->run_once(work->record);
  if (!first) return std::unexpected(first.error());
  // The first run pays for compilers, pages and caches; the second counts, unless nobody would wait for it.
  const auto second = *first < 5 * longest_run_ms ? harness_->run_once(work->record) : first;
  if (!second) return std::unexpected(second.error());
  return *second * static_cast<double>(item_count) / static_cast<double>(pilot) > longest_run_ms;
}

Result<bool> Session::run_and_check(const Recorder& record, const Expectation& expected, Measurement& row) {
  for (const BufferView& output : expected.outputs) {
    const auto plan = plan_poison(output.size_bytes / 4, poison, context_.traits());
    if (!plan) return std::unexpected(plan.error());
    if (const Status ok = run_once(*plan, output); !ok) return std::unexpected(ok.error());
  }
  if (const auto ms = harness_->run_once(record); !ms) return std::unexpected(ms.error());
  const auto verdict = expected.check();
  if (!verdict) return std::unexpected(verdict.error());
  row.relative_error = std::max(row.relative_error, verdict->relative_error);
  return verdict->correct;
}

Status Session::measure(Measurement& row, const std::function<Result<Work>(std::uint64_t)>& make,
                        const Expectation& expected, bool with_amortised) {
  const auto work = make(row.item_count);
  if (!work && work.error().kind == ErrorKind::unsupported) {
    const std::uint64_t bytes = row.item_count * row.item_bytes;
    row.not_timed = bytes > context_.traits().max_binding_bytes ? "larger than one binding" : "not on this device";
    return {};
  }
  if (!work) return std::unexpected(work.error());
  const std::uint64_t pipelines = context_.statistics().pipelines_created;
  const double milliseconds = context_.statistics().pipeline_milliseconds;
  if (const Status ok = context_.prepare(*work->plan); !ok) return ok;
  if (context_.statistics().pipelines_created != pipelines) {
    row.create_ms = context_.statistics().pipeline_milliseconds - milliseconds;
  }
  row.has_plan = true;
  row.pass_count = static_cast<std::uint32_t>(work->plan->dispatches.size());
  row.scratch_bytes = work->plan->scratch_bytes;
  row.plan_bytes = work->plan->bytes_moved();

  const std::uint64_t pilot = expected.is_one_size ? row.item_count : std::min(row.item_count, pilot_items);
  const auto too_long = takes_too_long(row.item_count, pilot, make);
  if (!too_long) return std::unexpected(too_long.error());
  if (*too_long) {
    row.not_timed = "longer than a second";
    return {};
  }
  row.correct = true;
  for (const Method method : {Method::call, Method::amortised}) {
    if (method == Method::amortised && !with_amortised) continue;
    const auto timing = harness_->time(method, work->record);
    if (!timing) return std::unexpected(timing.error());
    (method == Method::call ? row.call : row.amortised) = *timing;
    const auto correct = run_and_check(work->record, expected, row);
    if (!correct) return std::unexpected(correct.error());
    row.correct = row.correct && *correct;
  }
  if (row.call->ms.count == 0) row.not_timed = "not timed: the clock did not move";
  const auto record_us = harness_->record_microseconds(work->record);
  if (!record_us) return std::unexpected(record_us.error());
  row.record_us = *record_us;
  return {};
}

}  // namespace upsweep::bench
