// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "exec/context_impl.h"
#include "plan/kernel_builder.h"
#include "plan/plan_builder.h"

namespace upsweep {
namespace {

constexpr std::uint32_t threads = 256;

// Runs a kernel of one workgroup with bindings `params {one}` and `output`, and returns the output.
Result<std::vector<std::uint32_t>> run_kernel(Context& context, KernelBuilder builder, std::uint64_t words) {
  auto kernel = std::move(builder).build();
  if (!kernel) return std::unexpected(kernel.error());
  PlanBuilder plan("probe", context.traits());
  const SlotId output = plan.argument("output", words * 4, 16);
  plan.dispatch({.kernel = *kernel,
                 .workgroup_count = 1,
                 .bindings = {{"output", output}},
                 .params = {{"one", 1}},
                 .reason = {}});
  auto finished = std::move(plan).finish();
  if (!finished) return std::unexpected(finished.error());
  auto raw = context.create_buffer(words * 4, "probe");
  if (!raw) return std::unexpected(raw.error());
  const BufferHandle buffer(*raw);
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context.device(), nullptr));
  const Argument argument{"output", buffer.get()};
  if (const Status ok = context.record(encoder.get(), *finished, {&argument, 1}); !ok)
    return std::unexpected(ok.error());
  const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
  const WGPUCommandBuffer list = commands.get();
  wgpuQueueSubmit(context.queue(), 1, &list);
  auto bytes = context.read(buffer.get(), words * 4);
  if (!bytes) return std::unexpected(bytes.error());
  std::vector<std::uint32_t> result(words);
  std::memcpy(result.data(), bytes->data(), bytes->size());
  return result;
}

}  // namespace

Status run_probe(Context& context) {
  Context::Impl& impl = context.impl();
  ProbeReport& report = impl.probe;
  const bool debug = std::exchange(impl.options.debug, false);
  KernelBuilder arithmetic("probe_arithmetic");
  arithmetic.workgroup(threads, 8).part("thread.wgsl").part("entry.plain.wgsl").part("probe_arithmetic.wgsl");
  const auto facts = run_kernel(context, std::move(arithmetic), 4);
  if (!facts) return std::unexpected(facts.error());
  report.workgroup_atomics = (*facts)[0] == threads;
  report.integer_division = (*facts)[1] == 0;
  report.keeps_subnormals = (*facts)[2] == 0x00400000u;

  if (impl.traits.subgroups) {
    KernelBuilder subgroups("probe_subgroups");
    subgroups.enable("subgroups").workgroup(threads, 0).part("probe_subgroups.wgsl");
    const auto seen = run_kernel(context, std::move(subgroups), std::uint64_t{threads} * 4);
    if (!seen) return std::unexpected(seen.error());
    report.subgroup_size = (*seen)[0];
    report.ballot_width = (*seen)[2];
    // Some devices run narrower subgroups than they report.
    impl.traits.subgroup_min_size = std::min(impl.traits.subgroup_min_size, report.subgroup_size);
    bool follow = true;
    bool agree = true;
    for (std::uint32_t index = 0; index < threads; ++index) {
      const std::uint32_t* thread = seen->data() + std::size_t{index} * 4;
      agree = agree && thread[0] == report.subgroup_size && thread[1] < thread[0] && thread[2] <= thread[0];
      follow = follow && thread[0] != 0 && thread[1] == index % thread[0] && thread[3] == index - thread[1];
    }
    report.subgroup_ids_follow_index = follow && agree;
    impl.traits.subgroup_ids_follow_index = report.subgroup_ids_follow_index;
    // A device whose lanes contradict its own size is not to be trusted with more.
    if (!agree || report.ballot_width != report.subgroup_size) impl.traits = impl.traits.without_subgroups();
  }
  report.ran = true;
  impl.options.debug = debug;
  return {};
}

}  // namespace upsweep
