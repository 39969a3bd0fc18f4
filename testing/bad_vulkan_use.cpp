// SPDX-License-Identifier: Apache-2.0
// Copies past the end of a buffer on a device without WebGPU's own checks: shows that the tests under the Vulkan
// validation layer can fail.
#include <webgpu/webgpu.h>

#include <cstdio>

#include "exec/handle.h"

using namespace upsweep;

int main() {
  constexpr WGPUInstanceFeatureName timed = WGPUInstanceFeatureName_TimedWaitAny;
  WGPUInstanceDescriptor instance_descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
  instance_descriptor.requiredFeatureCount = 1;
  instance_descriptor.requiredFeatures = &timed;
  const InstanceHandle instance(wgpuCreateInstance(&instance_descriptor));
  const auto wait = [&](WGPUFuture future) {
    WGPUFutureWaitInfo info = WGPU_FUTURE_WAIT_INFO_INIT;
    info.future = future;
    wgpuInstanceWaitAny(instance.get(), 1, &info, UINT64_MAX);
  };
  AdapterHandle adapter;
  WGPURequestAdapterCallbackInfo on_adapter = WGPU_REQUEST_ADAPTER_CALLBACK_INFO_INIT;
  on_adapter.mode = WGPUCallbackMode_WaitAnyOnly;
  on_adapter.callback = [](WGPURequestAdapterStatus, WGPUAdapter raw, WGPUStringView, void* userdata, void*) {
    *static_cast<AdapterHandle*>(userdata) = AdapterHandle(raw);
  };
  on_adapter.userdata1 = &adapter;
  wait(wgpuInstanceRequestAdapter(instance.get(), nullptr, on_adapter));

  const char* on[] = {"skip_validation"};
  WGPUDawnTogglesDescriptor toggles = WGPU_DAWN_TOGGLES_DESCRIPTOR_INIT;
  toggles.enabledToggleCount = 1;
  toggles.enabledToggles = on;
  WGPUDeviceDescriptor device_descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
  device_descriptor.nextInChain = &toggles.chain;
  DeviceHandle device;
  WGPURequestDeviceCallbackInfo on_device = WGPU_REQUEST_DEVICE_CALLBACK_INFO_INIT;
  on_device.mode = WGPUCallbackMode_WaitAnyOnly;
  on_device.callback = [](WGPURequestDeviceStatus, WGPUDevice raw, WGPUStringView, void* userdata, void*) {
    *static_cast<DeviceHandle*>(userdata) = DeviceHandle(raw);
  };
  on_device.userdata1 = &device;
  wait(wgpuAdapterRequestDevice(adapter.get(), &device_descriptor, on_device));
  if (!device) {
    std::fputs("no device\n", stderr);
    return 1;
  }

  WGPUBufferDescriptor buffer_descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  buffer_descriptor.size = 16;
  buffer_descriptor.usage = WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
  const BufferHandle source(wgpuDeviceCreateBuffer(device.get(), &buffer_descriptor));
  const BufferHandle destination(wgpuDeviceCreateBuffer(device.get(), &buffer_descriptor));
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(device.get(), nullptr));
  wgpuCommandEncoderCopyBufferToBuffer(encoder.get(), source.get(), 0, destination.get(), 0, 20);
  const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
  const WGPUCommandBuffer list = commands.get();
  const QueueHandle queue(wgpuDeviceGetQueue(device.get()));
  wgpuQueueSubmit(queue.get(), 1, &list);
  return 0;
}
