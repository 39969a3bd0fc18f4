// SPDX-License-Identifier: Apache-2.0
// A program with a WebGPU device of its own: it lets upsweep adopt the device, records a reduction into its own
// encoder, submits, reads the result back, and checks it.
#include <webgpu/webgpu.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "upsweep/upsweep.h"

namespace {

[[noreturn]] void stop(const char* what) {
  std::fprintf(stderr, "consumer: %s\n", what);
  std::exit(1);
}

void check(const upsweep::Status& status) {
  if (!status) stop(status.error().message.c_str());
}

void wait(WGPUInstance instance, WGPUFuture future) {
  WGPUFutureWaitInfo info = WGPU_FUTURE_WAIT_INFO_INIT;
  info.future = future;
  if (wgpuInstanceWaitAny(instance, 1, &info, UINT64_MAX) != WGPUWaitStatus_Success) stop("waiting failed");
}

WGPUInstance create_instance() {
  const WGPUInstanceFeatureName timed_wait = WGPUInstanceFeatureName_TimedWaitAny;
  WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
  descriptor.requiredFeatureCount = 1;
  descriptor.requiredFeatures = &timed_wait;
  const WGPUInstance instance = wgpuCreateInstance(&descriptor);
  if (instance == nullptr) stop("no instance");
  return instance;
}

WGPUAdapter request_adapter(WGPUInstance instance) {
  WGPUAdapter adapter = nullptr;
  WGPURequestAdapterCallbackInfo callback = WGPU_REQUEST_ADAPTER_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.callback = [](WGPURequestAdapterStatus, WGPUAdapter found, WGPUStringView, void* result, void*) {
    *static_cast<WGPUAdapter*>(result) = found;
  };
  callback.userdata1 = &adapter;
  wait(instance, wgpuInstanceRequestAdapter(instance, nullptr, callback));
  if (adapter == nullptr) stop("no adapter");
  return adapter;
}

WGPUDevice request_device(WGPUInstance instance, WGPUAdapter adapter) {
  WGPUDevice device = nullptr;
  WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
  descriptor.uncapturedErrorCallbackInfo.callback = [](WGPUDevice const*, WGPUErrorType, WGPUStringView message, void*,
                                                       void*) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(message.length), message.data);
    stop("an error of the device");
  };
  WGPURequestDeviceCallbackInfo callback = WGPU_REQUEST_DEVICE_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.callback = [](WGPURequestDeviceStatus, WGPUDevice found, WGPUStringView, void* result, void*) {
    *static_cast<WGPUDevice*>(result) = found;
  };
  callback.userdata1 = &device;
  wait(instance, wgpuAdapterRequestDevice(adapter, &descriptor, callback));
  if (device == nullptr) stop("no device");
  return device;
}

WGPUBuffer create_buffer(WGPUDevice device, std::uint64_t bytes, WGPUBufferUsage usage) {
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  descriptor.size = bytes;
  descriptor.usage = usage;
  return wgpuDeviceCreateBuffer(device, &descriptor);
}

std::uint32_t read_word(WGPUInstance instance, WGPUBuffer staging) {
  bool is_mapped = false;
  WGPUBufferMapCallbackInfo callback = WGPU_BUFFER_MAP_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.callback = [](WGPUMapAsyncStatus status, WGPUStringView, void* result, void*) {
    *static_cast<bool*>(result) = status == WGPUMapAsyncStatus_Success;
  };
  callback.userdata1 = &is_mapped;
  wait(instance, wgpuBufferMapAsync(staging, WGPUMapMode_Read, 0, 4, callback));
  if (!is_mapped) stop("mapping failed");
  std::uint32_t word = 0;
  std::memcpy(&word, wgpuBufferGetConstMappedRange(staging, 0, 4), 4);
  wgpuBufferUnmap(staging);
  return word;
}

}  // namespace

int main() {
  const WGPUInstance instance = create_instance();
  const WGPUAdapter adapter = request_adapter(instance);
  const WGPUDevice device = request_device(instance, adapter);
  const WGPUQueue queue = wgpuDeviceGetQueue(device);

  // More than one pass can fold at once, and an odd number.
  std::vector<std::uint32_t> items(1000003);
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = static_cast<std::uint32_t>(i * 2654435761u);
    expected += items[i];
  }
  const std::uint64_t bytes = items.size() * 4;
  const WGPUBuffer input = create_buffer(device, bytes, WGPUBufferUsage_Storage | WGPUBufferUsage_CopyDst);
  const WGPUBuffer output = create_buffer(device, 4, WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc);
  const WGPUBuffer staging = create_buffer(device, 4, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst);
  wgpuQueueWriteBuffer(queue, input, 0, items.data(), bytes);

  auto context = upsweep::Context::adopt(device, {.instance = instance});
  if (!context) stop(context.error().message.c_str());
  const upsweep::ReduceShape shape{.item_count = upsweep::Count::on_host(items.size()),
                                   .input = upsweep::ElementType::u32(),
                                   .combine = upsweep::BinaryOperator::sum()};
  const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, nullptr);
  check(upsweep::record_reduce(**context, encoder, shape, {.input = input, .output = output}));
  wgpuCommandEncoderCopyBufferToBuffer(encoder, output, 0, staging, 0, 4);
  const WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  wgpuQueueSubmit(queue, 1, &commands);

  const std::uint32_t sum = read_word(instance, staging);
  std::printf("sum of %zu items: %u, expected %u\n", items.size(), sum, expected);
  if (const auto error = (*context)->take_error()) stop(error->message.c_str());
  context->reset();

  wgpuCommandBufferRelease(commands);
  wgpuCommandEncoderRelease(encoder);
  wgpuBufferRelease(staging);
  wgpuBufferRelease(output);
  wgpuBufferRelease(input);
  wgpuQueueRelease(queue);
  wgpuDeviceRelease(device);
  wgpuAdapterRelease(adapter);
  wgpuInstanceRelease(instance);
  return sum == expected ? 0 : 1;
}
