// SPDX-License-Identifier: Apache-2.0
// Instances, adapters and devices; their limits and features as DeviceTraits.
#include <algorithm>
#include <cctype>
#include <format>

#include "exec/context_impl.h"
#include "exec/self_test.h"

namespace upsweep {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string backend_name(WGPUBackendType backend) {
  switch (backend) {
    case WGPUBackendType_Vulkan: return "Vulkan";
    case WGPUBackendType_Metal: return "Metal";
    case WGPUBackendType_D3D12: return "D3D12";
    case WGPUBackendType_D3D11: return "D3D11";
    case WGPUBackendType_OpenGL: return "OpenGL";
    case WGPUBackendType_OpenGLES: return "OpenGLES";
    case WGPUBackendType_WebGPU: return "WebGPU";
    case WGPUBackendType_Null: return "Null";
    default: return "unknown";
  }
}

struct AdapterFacts {
  std::string device;
  std::string vendor;
  std::string driver;
  std::string backend;
  bool is_cpu = false;
  std::uint32_t subgroup_min_size = 0;
  std::uint32_t subgroup_max_size = 0;
};

AdapterFacts read_facts(const WGPUAdapterInfo& info) {
  return {.device = from_wgpu(info.device),
          .vendor = from_wgpu(info.vendor),
          .driver = from_wgpu(info.description),
          .backend = backend_name(info.backendType),
          .is_cpu = info.adapterType == WGPUAdapterType_CPU,
          .subgroup_min_size = info.subgroupMinSize,
          .subgroup_max_size = info.subgroupMaxSize};
}

AdapterFacts facts_of(WGPUAdapter adapter) {
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  if (wgpuAdapterGetInfo(adapter, &info) != WGPUStatus_Success) return {};
  AdapterFacts facts = read_facts(info);
  wgpuAdapterInfoFreeMembers(info);
  return facts;
}

// An instance that can wait with a time-out, or one without.
std::pair<InstanceHandle, bool> open_instance() {
  constexpr WGPUInstanceFeatureName timed = WGPUInstanceFeatureName_TimedWaitAny;
  WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
  descriptor.requiredFeatureCount = 1;
  descriptor.requiredFeatures = &timed;
  InstanceHandle instance(wgpuCreateInstance(&descriptor));
  if (instance) return {std::move(instance), true};
  return {InstanceHandle(wgpuCreateInstance(nullptr)), false};
}

AdapterHandle request_adapter(WGPUInstance instance, const Waiter& waiter, const WGPURequestAdapterOptions& options) {
  struct Answer {
    AdapterHandle adapter;
    bool done = false;
  } answer;
  WGPURequestAdapterCallbackInfo callback = WGPU_REQUEST_ADAPTER_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.callback = [](WGPURequestAdapterStatus, WGPUAdapter adapter, WGPUStringView, void* userdata, void*) {
    auto& result = *static_cast<Answer*>(userdata);
    result.adapter = AdapterHandle(adapter);
    result.done = true;
  };
  callback.userdata1 = &answer;
  waiter.wait(wgpuInstanceRequestAdapter(instance, &options, callback), answer.done);
  return std::move(answer.adapter);
}

// WebGPU has no list of adapters: ask in every way there is, and keep each answer once. GPUs first.
std::vector<AdapterHandle> find_adapters(WGPUInstance instance, const Waiter& waiter, bool low_power) {
  std::vector<AdapterHandle> adapters;
  std::vector<std::string> known;
  const WGPUPowerPreference preferred = low_power ? WGPUPowerPreference_LowPower : WGPUPowerPreference_HighPerformance;
  const WGPUPowerPreference other = low_power ? WGPUPowerPreference_HighPerformance : WGPUPowerPreference_LowPower;
  for (const WGPUPowerPreference power : {preferred, other}) {
    for (const bool fallback : {false, true}) {
      for (const WGPUBackendType backend :
           {WGPUBackendType_Undefined, WGPUBackendType_Vulkan, WGPUBackendType_Metal, WGPUBackendType_D3D12}) {
        WGPURequestAdapterOptions options = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
        options.featureLevel = WGPUFeatureLevel_Core;
        options.powerPreference = power;
        options.forceFallbackAdapter = fallback ? WGPU_TRUE : WGPU_FALSE;
        options.backendType = backend;
        AdapterHandle adapter = request_adapter(instance, waiter, options);
        if (!adapter) continue;
        const AdapterFacts facts = facts_of(adapter.get());
        if (facts.backend == "Null") continue;  // Dawn's backend that accepts everything and computes nothing
        const std::string name = facts.device + facts.backend;
        if (std::ranges::find(known, name) != known.end()) continue;
        known.push_back(name);
        adapters.push_back(std::move(adapter));
      }
    }
  }
  std::ranges::stable_sort(adapters, {}, [](const AdapterHandle& adapter) { return facts_of(adapter.get()).is_cpu; });
  return adapters;
}

DeviceTraits read_traits(WGPUDevice device, const AdapterFacts& facts, WGPUInstance instance) {
  DeviceTraits traits;
  WGPULimits limits = WGPU_LIMITS_INIT;
  if (wgpuDeviceGetLimits(device, &limits) == WGPUStatus_Success) {
    traits.max_workgroup_size = std::min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX);
    traits.max_workgroup_bytes = limits.maxComputeWorkgroupStorageSize;
    traits.max_workgroups_per_dimension = limits.maxComputeWorkgroupsPerDimension;
    traits.max_storage_buffers = limits.maxStorageBuffersPerShaderStage;
    traits.max_binding_bytes = limits.maxStorageBufferBindingSize;
    traits.max_buffer_bytes = limits.maxBufferSize;
    traits.offset_alignment = std::max(limits.minStorageBufferOffsetAlignment, limits.minUniformBufferOffsetAlignment);
  }
  traits.subgroups = wgpuDeviceHasFeature(device, WGPUFeatureName_Subgroups) != 0;
  if (traits.subgroups) {
    traits.subgroup_min_size = facts.subgroup_min_size;
    traits.subgroup_max_size = facts.subgroup_max_size;
    traits.subgroup_id_builtin = instance != nullptr && wgpuInstanceHasWGSLLanguageFeature(
                                                            instance, WGPUWGSLLanguageFeatureName_SubgroupId) != 0;
  }
  traits.f16 = wgpuDeviceHasFeature(device, WGPUFeatureName_ShaderF16) != 0;
  traits.timestamps = wgpuDeviceHasFeature(device, WGPUFeatureName_TimestampQuery) != 0;
  traits.adapter = facts.device;
  traits.adapter_vendor = facts.vendor;
  traits.is_cpu = facts.is_cpu;
  return traits;
}

void keep_uncaptured(WGPUDevice const*, WGPUErrorType, WGPUStringView message, void* userdata, void*) {
  static_cast<ErrorInbox*>(userdata)->put({ErrorKind::device, from_wgpu(message)});
}

// userdata1 is a shared_ptr of its own: the device may outlive the context.
void keep_lost(WGPUDevice const*, WGPUDeviceLostReason reason, WGPUStringView message, void* userdata, void*) {
  const std::unique_ptr<std::shared_ptr<ErrorInbox>> inbox(static_cast<std::shared_ptr<ErrorInbox>*>(userdata));
  if (reason == WGPUDeviceLostReason_Destroyed || reason == WGPUDeviceLostReason_CallbackCancelled) return;
  (*inbox)->put({ErrorKind::device, "The device was lost: " + from_wgpu(message)});
}

Result<DeviceHandle> request_device(Context::Impl& context, const AdapterRequest& request) {
  WGPULimits limits = WGPU_LIMITS_INIT;
  wgpuAdapterGetLimits(context.adapter.get(), &limits);
  std::vector<WGPUFeatureName> features;
  for (const WGPUFeatureName feature :
       {WGPUFeatureName_Subgroups, WGPUFeatureName_ShaderF16, WGPUFeatureName_TimestampQuery}) {
    if (feature == WGPUFeatureName_Subgroups && request.without_subgroups) continue;
    if (wgpuAdapterHasFeature(context.adapter.get(), feature) != 0) features.push_back(feature);
  }
  WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
  descriptor.label = to_wgpu("upsweep");
  descriptor.requiredFeatureCount = features.size();
  descriptor.requiredFeatures = features.data();
  if (!request.default_limits) descriptor.requiredLimits = &limits;
  descriptor.uncapturedErrorCallbackInfo.callback = keep_uncaptured;
  descriptor.uncapturedErrorCallbackInfo.userdata1 = context.inbox.get();
  auto inbox = std::make_unique<std::shared_ptr<ErrorInbox>>(context.inbox);
  descriptor.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowSpontaneous;
  descriptor.deviceLostCallbackInfo.callback = keep_lost;
  descriptor.deviceLostCallbackInfo.userdata1 = inbox.release();
#ifdef WGPU_DAWN_TOGGLES_DESCRIPTOR_INIT
  const char* off[] = {"timestamp_quantization"};
  WGPUDawnTogglesDescriptor toggles = WGPU_DAWN_TOGGLES_DESCRIPTOR_INIT;
  toggles.disabledToggleCount = 1;
  toggles.disabledToggles = off;
  if (request.exact_timestamps) descriptor.nextInChain = &toggles.chain;
#endif
  struct Answer {
    DeviceHandle device;
    std::string message;
    bool done = false;
  } answer;
  WGPURequestDeviceCallbackInfo callback = WGPU_REQUEST_DEVICE_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.callback = [](WGPURequestDeviceStatus, WGPUDevice device, WGPUStringView message, void* userdata, void*) {
    auto& result = *static_cast<Answer*>(userdata);
    result.device = DeviceHandle(device);
    result.message = from_wgpu(message);
    result.done = true;
  };
  callback.userdata1 = &answer;
  context.waiter.wait(wgpuAdapterRequestDevice(context.adapter.get(), &descriptor, callback), answer.done);
  if (!answer.device) return fail(ErrorKind::device, "The adapter gave no device: " + answer.message);
  return std::move(answer.device);
}

Result<std::unique_ptr<Context>> probed(std::unique_ptr<Context> context) {
  if (context->impl().options.probe && context->impl().waiter.can_wait()) {
    if (const Status ok = run_probe(*context); !ok) return with_context(ok.error(), "probing the device");
  }
  const Context::Impl& impl = context->impl();
  if (impl.options.probe && impl.options.self_test && impl.waiter.can_wait() && !impl.traits.is_cpu) {
    // Elsewhere nothing asks for it.
    const bool may_rank_in_order = impl.traits.adapter_vendor == "nvidia";
    begin_self_test(*context);
    if (may_rank_in_order) begin_lock_step_test(*context);
    if (const Status ok = run_self_test(*context); !ok) return with_context(ok.error(), "testing the device");
    if (may_rank_in_order) {
      if (const Status ok = run_lock_step_test(*context); !ok) return with_context(ok.error(), "testing the device");
    }
  }
  return context;
}

}  // namespace

std::vector<std::string> Context::adapter_names() {
  auto [instance, can_time] = open_instance();
  std::vector<std::string> names;
  if (!instance) return names;
  Waiter waiter;
  waiter.set(instance.get(), can_time);
  for (const AdapterHandle& adapter : find_adapters(instance.get(), waiter, false)) {
    const AdapterFacts facts = facts_of(adapter.get());
    names.push_back(std::format("{} ({})", facts.device, facts.backend));
  }
  return names;
}

Result<std::unique_ptr<Context>> Context::create(const AdapterRequest& request, const ContextOptions& options) {
  auto impl = std::make_unique<Impl>();
  auto [instance, can_time] = open_instance();
  if (!instance) return fail(ErrorKind::device, "WebGPU gave no instance.");
  impl->instance = std::move(instance);
  impl->waiter.set(impl->instance.get(), can_time);
  impl->options = options;
  std::string names;
  for (AdapterHandle& adapter : find_adapters(impl->instance.get(), impl->waiter, request.low_power)) {
    const AdapterFacts facts = facts_of(adapter.get());
    const bool name_fits = lower(facts.device + " " + facts.driver).find(lower(request.name)) != std::string::npos;
    const bool backend_fits = request.backend.empty() || lower(request.backend) == lower(facts.backend);
    names += std::format("{}{} ({})", names.empty() ? "" : ", ", facts.device, facts.backend);
    if (!name_fits || !backend_fits || impl->adapter) continue;
    impl->adapter = std::move(adapter);
    impl->driver = facts.driver;
    impl->backend = facts.backend;
  }
  if (!impl->adapter) {
    if (names.empty()) {
      return fail(ErrorKind::device,
                  "No WebGPU adapter was found. Install a GPU driver or a software one (Debian: mesa-vulkan-drivers).");
    }
    std::string asked = request.name.empty() ? "" : std::format("name \"{}\"", request.name);
    if (!request.backend.empty()) {
      asked += std::format("{}backend \"{}\"", asked.empty() ? "" : " and ", request.backend);
    }
    return fail(ErrorKind::invalid_request, std::format("No adapter fits {}; there are: {}.", asked, names));
  }
  auto device = request_device(*impl, request);
  if (!device) return std::unexpected(device.error());
  impl->device = std::move(*device);
  impl->queue = QueueHandle(wgpuDeviceGetQueue(impl->device.get()));
  impl->traits = read_traits(impl->device.get(), facts_of(impl->adapter.get()), impl->instance.get());
  return probed(std::unique_ptr<Context>(new Context(std::move(impl))));
}

Result<std::unique_ptr<Context>> Context::adopt(WGPUDevice device, const ContextOptions& options) {
  if (device == nullptr) return fail(ErrorKind::invalid_request, "The device is null.");
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->instance = InstanceHandle::share(options.instance);
  // Whether the caller's instance can wait with a time-out is not to be found out.
  impl->waiter.set(options.instance, false);
  impl->device = DeviceHandle::share(device);
  impl->queue = QueueHandle(wgpuDeviceGetQueue(device));
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  AdapterFacts facts;
  if (wgpuDeviceGetAdapterInfo(device, &info) == WGPUStatus_Success) {
    facts = read_facts(info);
    wgpuAdapterInfoFreeMembers(info);
  }
  impl->driver = facts.driver;
  impl->backend = facts.backend;
  impl->traits = read_traits(device, facts, options.instance);
  return probed(std::unique_ptr<Context>(new Context(std::move(impl))));
}

}  // namespace upsweep
