// SPDX-License-Identifier: Apache-2.0
// Plans made by hand, so that the executor is tested apart from the primitives.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/handle.h"
#include "plan/kernel_builder.h"
#include "plan/plan_builder.h"
#include "testing/gpu_test.h"

namespace upsweep::testing {

constexpr std::uint32_t test_workgroup_size = 4;

// `text` declares the params struct, the bindings and run().
inline std::shared_ptr<const Kernel> make_kernel(const std::string& name, std::string_view text,
                                                 std::initializer_list<std::string_view> parts = {}) {
  KernelBuilder builder(name);
  builder.workgroup(test_workgroup_size, 0).part("thread.wgsl").part("entry.plain.wgsl");
  for (const std::string_view part : parts) builder.part(part);
  builder.generated(name + ".wgsl", text);
  auto kernel = std::move(builder).build();
  if (!kernel) ADD_FAILURE() << kernel.error().message;
  return kernel ? *kernel : nullptr;
}

// output[position] = value.
inline Plan store_plan(const DeviceTraits& traits, std::uint32_t position, std::uint32_t value,
                       std::uint64_t output_words) {
  static const std::shared_ptr<const Kernel> kernel =
      make_kernel("store",
                  "struct StoreParams {\n  position: u32,\n  value: u32,\n  output_first: u32,\n}\n"
                  "@group(0) @binding(0) var<uniform> params: StoreParams;\n"
                  "@group(0) @binding(1) var<storage, read_write> output: array<u32>;\n"
                  "fn run(workgroup: Workgroup, thread: Thread) {\n"
                  "  if (thread.index == 0u) { output[params.output_first + params.position] = params.value; }\n"
                  "}\n");
  PlanBuilder plan("store", traits);
  const SlotId output = plan.argument("output", output_words * 4, 4);
  plan.dispatch({.kernel = kernel,
                 .workgroup_count = 1,
                 .bindings = {{"output", output, 0, 0, "output_first"}},
                 .params = {{"position", position}, {"value", value}},
                 .reason = {}});
  auto finished = std::move(plan).finish();
  if (!finished) ADD_FAILURE() << finished.error().message;
  return finished ? std::move(*finished) : Plan{};
}

inline std::string message_of(const Status& status) { return status ? "ok" : status.error().message; }

// Records into an encoder of its own, submits, and waits where that is possible.
template <typename Record>
Status submit(Context& context, Record record) {
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context.device(), nullptr));
  Status status = record(encoder.get());
  const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
  const WGPUCommandBuffer list = commands.get();
  wgpuQueueSubmit(context.queue(), 1, &list);
  if (status && context.instance() != nullptr) status = context.wait();
  return status;
}

inline std::vector<std::uint32_t> read_words(Context& context, const BufferView& view, std::uint64_t count) {
  const auto bytes = context.read(view, count * 4);
  if (!bytes) {
    ADD_FAILURE() << bytes.error().message;
    return {};
  }
  return items_of<std::uint32_t>(*bytes);
}

inline BufferHandle make_buffer(Context& context, std::uint64_t bytes) {
  const auto raw = context.create_buffer(bytes, "test");
  if (!raw) ADD_FAILURE() << raw.error().message;
  return BufferHandle(raw.value_or(nullptr));
}

}  // namespace upsweep::testing
