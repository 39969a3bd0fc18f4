// SPDX-License-Identifier: Apache-2.0
// Contexts: the probe, own and adopted devices, pipelines created in the background, errors that arrive by themselves.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "exec/plans_for_tests.h"
#include "upsweep/reduce.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

class ContextTest : public GpuTest {};
INSTANTIATE_TEST_SUITE_P(, ContextTest, ::testing::Values(Profile::full), profile_name);

const ReduceShape sum_of_a_thousand{.item_count = Count::on_host(1000), .input = ElementType::u32()};

// Sums 1000 threes on any context.
Status sum_threes(Context& context, std::uint32_t& total) {
  const BufferHandle input = make_buffer(context, 4000);
  const BufferHandle output = make_buffer(context, 4);
  if (const Status ok = context.write(input.get(), bytes_of(std::vector<std::uint32_t>(1000, 3))); !ok) return ok;
  const Status status = submit(context, [&](auto encoder) {
    return record_reduce(context, encoder, sum_of_a_thousand, {.input = input.get(), .output = output.get()});
  });
  if (!status) return status;
  const auto bytes = context.read(output.get(), 4);
  if (!bytes) return std::unexpected(bytes.error());
  total = items_of<std::uint32_t>(*bytes).at(0);
  return {};
}

// ---- the probe ----

TEST_P(ContextTest, ProbeFindsWorkingArithmetic) {
  EXPECT_TRUE(context().probe_report().ran);
  EXPECT_TRUE(context().probe_report().workgroup_atomics);
  EXPECT_TRUE(context().probe_report().integer_division);
}

TEST_P(ContextTest, ProbeSeesTheSubgroupsOfTheAdapter) {
  const ProbeReport& report = context().probe_report();
  const DeviceTraits& traits = device_traits();
  ASSERT_TRUE(traits.subgroups) << "both software adapters have subgroups";
  EXPECT_GE(report.subgroup_size, traits.subgroup_min_size);
  EXPECT_LE(report.subgroup_size, traits.subgroup_max_size);
  EXPECT_EQ(report.ballot_width, report.subgroup_size);
  EXPECT_TRUE(report.subgroup_ids_follow_index);
  EXPECT_TRUE(traits.subgroup_ids_follow_index);
  // Known adapters of the tests.
  if (traits.adapter.contains("llvmpipe")) {
    EXPECT_EQ(report.subgroup_size, 8u);
  }
  if (traits.adapter.contains("SwiftShader")) {
    EXPECT_EQ(report.subgroup_size, 4u);
  }
}

TEST_P(ContextTest, ProbeCanBeLeftOut) {
  const auto created = Context::create({}, {.probe = false});
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_FALSE((*created)->probe_report().ran);
  EXPECT_EQ((*created)->statistics().pipelines_created, 0u);
  std::uint32_t total = 0;
  EXPECT_EQ(message_of(sum_threes(**created, total)), "ok");
  EXPECT_EQ(total, 3000u);
}

// ---- own devices ----

TEST_P(ContextTest, IsFoundByAnyPartOfTheAdaptersName) {
  std::string name = device_traits().adapter.substr(1, 5);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto created = Context::create({.name = name, .backend = "vulkan"});
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ((*created)->traits().adapter, device_traits().adapter);
  EXPECT_EQ((*created)->backend(), "Vulkan");
  EXPECT_FALSE((*created)->driver().empty());
}

TEST_P(ContextTest, OfAnUnknownAdapterIsRefusedWithAListOfThoseThatAreThere) {
  const auto by_name = Context::create({.name = "no such adapter"});
  ASSERT_FALSE(by_name);
  EXPECT_EQ(by_name.error().kind, ErrorKind::invalid_request);
  EXPECT_THAT(by_name.error().message, HasSubstr("No adapter fits name \"no such adapter\"; there are: "));
  EXPECT_THAT(by_name.error().message, HasSubstr(device_traits().adapter));
  const auto by_backend = Context::create({.backend = "metal"});
  ASSERT_FALSE(by_backend);
  EXPECT_THAT(by_backend.error().message, HasSubstr("No adapter fits backend \"metal\"; there are: "));
  const std::vector<std::string> names = Context::adapter_names();
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) EXPECT_THAT(by_name.error().message, HasSubstr(name));
}

TEST_P(ContextTest, WithDefaultLimitsHasNoMoreThanThey) {
  const auto created = Context::create({.default_limits = true});
  ASSERT_TRUE(created) << created.error().message;
  const DeviceTraits& traits = (*created)->traits();
  const DeviceTraits minimum = DeviceTraits::webgpu_minimum();
  EXPECT_EQ(traits.max_workgroup_size, minimum.max_workgroup_size);
  EXPECT_EQ(traits.max_workgroup_bytes, minimum.max_workgroup_bytes);
  EXPECT_EQ(traits.max_workgroups_per_dimension, minimum.max_workgroups_per_dimension);
  EXPECT_EQ(traits.max_storage_buffers, minimum.max_storage_buffers);
  EXPECT_EQ(traits.max_binding_bytes, minimum.max_binding_bytes);
  EXPECT_EQ(traits.max_buffer_bytes, minimum.max_buffer_bytes);
  EXPECT_EQ(traits.offset_alignment, minimum.offset_alignment);
  std::uint32_t total = 0;
  EXPECT_EQ(message_of(sum_threes(**created, total)), "ok");
  EXPECT_EQ(total, 3000u);
  EXPECT_FALSE((*created)->take_error());
}

TEST_P(ContextTest, WithoutSubgroupsHasNone) {
  const auto created = Context::create({.without_subgroups = true});
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_FALSE((*created)->traits().subgroups);
  EXPECT_EQ((*created)->probe_report().subgroup_size, 0u);
  EXPECT_EQ(wgpuDeviceHasFeature((*created)->device(), WGPUFeatureName_Subgroups), WGPU_FALSE);
}

// ---- a caller's device ----

// A device as a renderer might make it: no features, default limits, its own error callback.
struct CallersDevice {
  InstanceHandle instance;
  AdapterHandle adapter;
  DeviceHandle device;
  std::vector<std::string> errors;

  CallersDevice() {
    instance = InstanceHandle(wgpuCreateInstance(nullptr));
    WGPURequestAdapterCallbackInfo on_adapter = WGPU_REQUEST_ADAPTER_CALLBACK_INFO_INIT;
    on_adapter.mode = WGPUCallbackMode_AllowProcessEvents;
    on_adapter.callback = [](WGPURequestAdapterStatus, WGPUAdapter raw, WGPUStringView, void* userdata, void*) {
      static_cast<CallersDevice*>(userdata)->adapter = AdapterHandle(raw);
    };
    on_adapter.userdata1 = this;
    wgpuInstanceRequestAdapter(instance.get(), nullptr, on_adapter);
    process([&] { return static_cast<bool>(adapter); });
    if (!adapter) return;
    WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
    descriptor.uncapturedErrorCallbackInfo.callback = [](WGPUDevice const*, WGPUErrorType, WGPUStringView message,
                                                         void* userdata, void*) {
      static_cast<CallersDevice*>(userdata)->errors.push_back(from_wgpu(message));
    };
    descriptor.uncapturedErrorCallbackInfo.userdata1 = this;
    descriptor.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowSpontaneous;
    descriptor.deviceLostCallbackInfo.callback = [](WGPUDevice const*, WGPUDeviceLostReason, WGPUStringView, void*,
                                                    void*) {};
    WGPURequestDeviceCallbackInfo on_device = WGPU_REQUEST_DEVICE_CALLBACK_INFO_INIT;
    on_device.mode = WGPUCallbackMode_AllowProcessEvents;
    on_device.callback = [](WGPURequestDeviceStatus, WGPUDevice raw, WGPUStringView, void* userdata, void*) {
      static_cast<CallersDevice*>(userdata)->device = DeviceHandle(raw);
    };
    on_device.userdata1 = this;
    wgpuAdapterRequestDevice(adapter.get(), &descriptor, on_device);
    process([&] { return static_cast<bool>(device); });
  }

  template <typename Done>
  bool process(Done done) const {
    for (int attempt = 0; attempt < 5000 && !done(); ++attempt) {
      wgpuInstanceProcessEvents(instance.get());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return done();
  }
};

TEST_P(ContextTest, OnACallersDeviceWithItsInstanceProbesAndReadsBack) {
  const CallersDevice callers;
  ASSERT_TRUE(callers.device);
  const auto adopted = Context::adopt(callers.device.get(), {.instance = callers.instance.get()});
  ASSERT_TRUE(adopted) << adopted.error().message;
  EXPECT_TRUE((*adopted)->probe_report().ran);
  EXPECT_FALSE((*adopted)->traits().subgroups);
  EXPECT_EQ((*adopted)->device(), callers.device.get());
  EXPECT_EQ((*adopted)->traits().adapter, device_traits().adapter);
  std::uint32_t total = 0;
  EXPECT_EQ(message_of(sum_threes(**adopted, total)), "ok");
  EXPECT_EQ(total, 3000u);
  EXPECT_TRUE(callers.errors.empty());
}

TEST_P(ContextTest, OnACallersDeviceWithoutInstanceRecordsButDoesNotWait) {
  const CallersDevice callers;
  ASSERT_TRUE(callers.device);
  const auto adopted = Context::adopt(callers.device.get());
  ASSERT_TRUE(adopted) << adopted.error().message;
  Context& context = **adopted;
  EXPECT_FALSE(context.probe_report().ran);
  EXPECT_EQ(context.instance(), nullptr);
  EXPECT_THAT(message_of(context.wait()), HasSubstr("needs the instance"));
  context.poll();  // nothing to process, and no crash

  const BufferHandle input = make_buffer(context, 4000);
  const BufferHandle output = make_buffer(context, 4);
  EXPECT_FALSE(context.read(output.get(), 4));
  ASSERT_EQ(message_of(context.write(input.get(), bytes_of(std::vector<std::uint32_t>(1000, 3)))), "ok");
  ASSERT_EQ(message_of(submit(context,
                              [&](auto encoder) {
                                return record_reduce(context, encoder, sum_of_a_thousand,
                                                     {.input = input.get(), .output = output.get()});
                              })),
            "ok");
  // The caller reads back by his own means: here a second context that may wait.
  const auto reader = Context::adopt(callers.device.get(), {.instance = callers.instance.get(), .probe = false});
  ASSERT_TRUE(reader);
  EXPECT_EQ(read_words(**reader, output.get(), 1).at(0), 3000u);
  EXPECT_TRUE(callers.errors.empty());
}

TEST_P(ContextTest, OnACallersDeviceReportsItsOwnErrorsAndLeavesHisToHim) {
  CallersDevice callers;
  ASSERT_TRUE(callers.device);
  for (const WGPUInstance instance : {static_cast<WGPUInstance>(nullptr), callers.instance.get()}) {
    const auto adopted = Context::adopt(callers.device.get(), {.instance = instance, .probe = false});
    ASSERT_TRUE(adopted);
    const auto broken = make_kernel("broken", "fn run(workgroup: Workgroup, thread: Thread) { let a: u32 = 1.5; }\n");
    PlanBuilder builder("broken", (*adopted)->traits());
    builder.dispatch({.kernel = broken, .workgroup_count = 1, .bindings = {}, .params = {}, .reason = {}});
    const auto plan = std::move(builder).finish();
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_THAT(message_of((*adopted)->prepare(*plan)), HasSubstr("broken.wgsl:1"));
    EXPECT_TRUE(callers.errors.empty());

    WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
    descriptor.size = 16;
    descriptor.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_Storage;  // not allowed together
    const BufferHandle refused(wgpuDeviceCreateBuffer(callers.device.get(), &descriptor));
    EXPECT_EQ(callers.errors.size(), 1u);
    EXPECT_FALSE((*adopted)->take_error());
    callers.errors.clear();
  }
}

TEST_P(ContextTest, RefusesANullDevice) {
  const auto adopted = Context::adopt(nullptr);
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().message, "The device is null.");
}

// ---- pipelines in the background ----

Plan planned(const DeviceTraits& traits) {
  auto plan = plan_reduce({.item_count = Count::on_host(1000000), .input = ElementType::u32()}, traits);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  return plan ? std::move(*plan) : Plan{};
}

std::size_t distinct_kernels(const Plan& plan) {
  std::vector<std::uint64_t> hashes;
  for (const Dispatch& dispatch : plan.dispatches) hashes.push_back(dispatch.kernel->text_hash);
  std::ranges::sort(hashes);
  return static_cast<std::size_t>(std::ranges::unique(hashes).begin() - hashes.begin());
}

bool poll_until(Context& context, const int& calls, int wanted) {
  for (int attempt = 0; attempt < 10000 && calls < wanted; ++attempt) {
    context.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return calls >= wanted;
}

TEST_P(ContextTest, PreparesInTheBackgroundAndCallsBackOnce) {
  const auto created = Context::create({}, {.probe = false});
  ASSERT_TRUE(created);
  const Plan plan = planned((*created)->traits());
  int calls = 0;
  std::string message;
  (*created)->prepare_async(plan, [&](const Status& status) {
    ++calls;
    message = message_of(status);
  });
  EXPECT_EQ(calls, 0) << "called before poll()";
  ASSERT_TRUE(poll_until(**created, calls, 1));
  EXPECT_EQ(message, "ok");
  EXPECT_EQ((*created)->statistics().pipelines_created, distinct_kernels(plan));
  EXPECT_EQ(message_of((*created)->prepare(plan)), "ok");
  EXPECT_EQ((*created)->statistics().pipelines_created, distinct_kernels(plan)) << "prepared, but not used";
  // Known pipelines: the answer comes at once.
  (*created)->prepare_async(plan, [&](const Status&) { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST_P(ContextTest, PreparesAPipelineOnceForAllWhoAskWhileItIsMade) {
  const auto created = Context::create({}, {.probe = false});
  ASSERT_TRUE(created);
  const Plan plan = planned((*created)->traits());
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    (*created)->prepare_async(plan, [&](const Status& status) { calls += status ? 1 : 100; });
  }
  ASSERT_TRUE(poll_until(**created, calls, 3));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ((*created)->statistics().pipelines_created, distinct_kernels(plan));
}

TEST_P(ContextTest, RecordsWhileAPipelineIsStillBeingMade) {
  const auto created = Context::create({}, {.probe = false});
  ASSERT_TRUE(created);
  int calls = 0;
  const auto plan = plan_reduce(sum_of_a_thousand, (*created)->traits());
  ASSERT_TRUE(plan);
  (*created)->prepare_async(*plan, [&](const Status& status) { calls += status ? 1 : 100; });
  std::uint32_t total = 0;
  EXPECT_EQ(message_of(sum_threes(**created, total)), "ok");
  EXPECT_EQ(total, 3000u);
  ASSERT_TRUE(poll_until(**created, calls, 1));
  EXPECT_EQ(calls, 1);
}

TEST_P(ContextTest, WaitsForAPipelineThatIsBeingMadeAndTellsOthersLater) {
  const auto created = Context::create({}, {.probe = false});
  ASSERT_TRUE(created);
  const Plan plan = planned((*created)->traits());
  int calls = 0;
  (*created)->prepare_async(plan, [&](const Status& status) { calls += status ? 1 : 100; });
  EXPECT_EQ(message_of((*created)->prepare(plan)), "ok");
  EXPECT_EQ(calls, 0) << "called while something else was prepared";
  EXPECT_EQ((*created)->statistics().pipelines_created, distinct_kernels(plan)) << "made twice";
  (*created)->poll();
  EXPECT_EQ(calls, 1);
}

TEST_P(ContextTest, TellsOfABrokenKernelAmongOthers) {
  const auto created = Context::create({}, {.probe = false});
  ASSERT_TRUE(created);
  const auto good = make_kernel("good", "fn run(workgroup: Workgroup, thread: Thread) {\n}\n");
  const auto broken = make_kernel("broken", "fn run(workgroup: Workgroup, thread: Thread) {\n  nonsense();\n}\n");
  PlanBuilder builder("two", (*created)->traits());
  for (const auto& kernel : {good, broken}) {
    builder.dispatch({.kernel = kernel, .workgroup_count = 1, .bindings = {}, .params = {}, .reason = {}});
  }
  const auto plan = std::move(builder).finish();
  ASSERT_TRUE(plan) << plan.error().message;
  for (int i = 0; i < 2; ++i) EXPECT_THAT(message_of((*created)->prepare(*plan)), HasSubstr("broken.wgsl:2: "));
  EXPECT_EQ((*created)->statistics().pipelines_created, 1u);
  EXPECT_FALSE((*created)->take_error());
}

TEST_P(ContextTest, TellsOfABrokenKernelInTheBackgroundAsInTheForeground) {
  const auto created = Context::create({}, {.probe = false});
  ASSERT_TRUE(created);
  const auto broken = make_kernel("broken", "fn run(workgroup: Workgroup, thread: Thread) {\n  nonsense();\n}\n");
  PlanBuilder builder("broken", (*created)->traits());
  builder.dispatch({.kernel = broken, .workgroup_count = 1, .bindings = {}, .params = {}, .reason = {}});
  const auto plan = std::move(builder).finish();
  ASSERT_TRUE(plan) << plan.error().message;
  int calls = 0;
  std::string message;
  (*created)->prepare_async(*plan, [&](const Status& status) {
    ++calls;
    message = message_of(status);
  });
  ASSERT_TRUE(poll_until(**created, calls, 1));
  EXPECT_THAT(message, HasSubstr("broken.wgsl:2: "));
  EXPECT_FALSE((*created)->take_error());
}

TEST_P(ContextTest, DestroyedBeforeItsPipelinesAreReadyStillCallsBackOnce) {
  int calls = 0;
  std::string message;
  {
    const auto created = Context::create({}, {.probe = false});
    ASSERT_TRUE(created);
    (*created)->prepare_async(planned((*created)->traits()), [&](const Status& status) {
      ++calls;
      message = message_of(status);
    });
  }
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(message, HasSubstr("The context was destroyed before"));
}

TEST_P(ContextTest, DestroyedOnACallersDeviceIsNotTouchedByLateCallbacks) {
  const CallersDevice callers;
  ASSERT_TRUE(callers.device);
  int calls = 0;
  std::string message;
  {
    const auto adopted = Context::adopt(callers.device.get(), {.instance = callers.instance.get(), .probe = false});
    ASSERT_TRUE(adopted);
    (*adopted)->prepare_async(planned((*adopted)->traits()), [&](const Status& status) {
      ++calls;
      message = message_of(status);
    });
  }
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(message, HasSubstr("The context was destroyed before"));
  // The device still finishes its work: nothing of the context may be touched then, and nobody is told twice.
  for (int attempt = 0; attempt < 300; ++attempt) {
    wgpuInstanceProcessEvents(callers.instance.get());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(calls, 1);
}

// ---- errors that arrive by themselves ----

void cause_an_uncaptured_error(Context& context) {
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  descriptor.size = 16;
  descriptor.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_Storage;  // not allowed together
  const BufferHandle refused(wgpuDeviceCreateBuffer(context.device(), &descriptor));
  context.poll();
}

TEST_P(ContextTest, KeepsUncapturedErrorsAndPrintsNothing) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  cause_an_uncaptured_error(context());
  const auto broken = make_kernel("broken", "fn run(workgroup: Workgroup, thread: Thread) { nonsense(); }\n");
  PlanBuilder builder("broken", context().traits());
  builder.dispatch({.kernel = broken, .workgroup_count = 1, .bindings = {}, .params = {}, .reason = {}});
  const auto plan = std::move(builder).finish();
  EXPECT_TRUE(plan);
  EXPECT_FALSE(context().prepare(*plan));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");

  const auto error = context().take_error();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::device);
  EXPECT_THAT(error->message, HasSubstr("usage"));
  EXPECT_FALSE(context().take_error()) << "an error is delivered once, and refused kernels are not among them";
}

TEST_P(ContextTest, KeepsErrorsInOrderUpToABound) {
  for (int i = 0; i < 100; ++i) cause_an_uncaptured_error(context());
  int taken = 0;
  while (context().take_error()) ++taken;
  EXPECT_EQ(taken, 64);
}

TEST_P(ContextTest, TellsThatItsDeviceWasLost) {
  const auto created = Context::create({}, {.probe = false});
  ASSERT_TRUE(created);
  wgpuDeviceForceLoss((*created)->device(), WGPUDeviceLostReason_Unknown, to_wgpu("lost by the test"));
  (*created)->poll();
  const auto error = (*created)->take_error();
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, HasSubstr("The device was lost: lost by the test"));
}

}  // namespace
}  // namespace upsweep::testing
