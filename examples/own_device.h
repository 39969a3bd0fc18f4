// SPDX-License-Identifier: Apache-2.0
// What a program that uses WebGPU has already: an instance, a device and a queue.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <cstdio>

struct OwnDevice {
  WGPUInstance instance = wgpuCreateInstance(nullptr);
  WGPUAdapter adapter = nullptr;
  WGPUDevice device = nullptr;
  WGPUQueue queue = nullptr;

  OwnDevice() {
    WGPURequestAdapterCallbackInfo on_adapter = WGPU_REQUEST_ADAPTER_CALLBACK_INFO_INIT;
    on_adapter.mode = WGPUCallbackMode_AllowProcessEvents;
    on_adapter.callback = [](WGPURequestAdapterStatus, WGPUAdapter found, WGPUStringView, void* self, void*) {
      static_cast<OwnDevice*>(self)->adapter = found;
    };
    on_adapter.userdata1 = this;
    wait_for(wgpuInstanceRequestAdapter(instance, nullptr, on_adapter));
    if (adapter == nullptr) return;

    WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
    descriptor.uncapturedErrorCallbackInfo.callback = [](WGPUDevice const*, WGPUErrorType, WGPUStringView message,
                                                         void*, void*) {
      // A length of WGPU_STRLEN becomes -1, which prints up to the zero. NOLINTNEXTLINE(modernize-use-std-print)
      std::fprintf(stderr, "%.*s\n", static_cast<int>(message.length), message.data);
    };
    // Without the feature the library works, too, on slower paths.
    const WGPUFeatureName subgroups = WGPUFeatureName_Subgroups;
    if (wgpuAdapterHasFeature(adapter, subgroups) != 0) {
      descriptor.requiredFeatureCount = 1;
      descriptor.requiredFeatures = &subgroups;
    }
    WGPURequestDeviceCallbackInfo on_device = WGPU_REQUEST_DEVICE_CALLBACK_INFO_INIT;
    on_device.mode = WGPUCallbackMode_AllowProcessEvents;
    on_device.callback = [](WGPURequestDeviceStatus, WGPUDevice found, WGPUStringView, void* self, void*) {
      static_cast<OwnDevice*>(self)->device = found;
    };
    on_device.userdata1 = this;
    wait_for(wgpuAdapterRequestDevice(adapter, &descriptor, on_device));
    if (device != nullptr) queue = wgpuDeviceGetQueue(device);
  }
  OwnDevice(const OwnDevice&) = delete;
  OwnDevice& operator=(const OwnDevice&) = delete;
  ~OwnDevice() {
    if (queue != nullptr) wgpuQueueRelease(queue);
    if (device != nullptr) wgpuDeviceRelease(device);
    if (adapter != nullptr) wgpuAdapterRelease(adapter);
    wgpuInstanceRelease(instance);
  }

  [[nodiscard]] WGPUBuffer create_buffer(std::uint64_t bytes, WGPUBufferUsage usage) const {
    WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
    descriptor.size = bytes;
    descriptor.usage = usage;
    return wgpuDeviceCreateBuffer(device, &descriptor);
  }

 private:
  void wait_for(WGPUFuture future) const {
    WGPUFutureWaitInfo info = WGPU_FUTURE_WAIT_INFO_INIT;
    info.future = future;
    while (info.completed == WGPU_FALSE) wgpuInstanceWaitAny(instance, 1, &info, 0);
  }
};
