// SPDX-License-Identifier: Apache-2.0
// Owning WebGPU handles.
#pragma once

#include <webgpu/webgpu.h>

#include <string>
#include <string_view>
#include <utility>

namespace upsweep {

template <typename T, void (*add_ref)(T), void (*release)(T)>
class Handle {
 public:
  Handle() = default;
  // Takes over the reference that a wgpu*Create* or *Get* call returned.
  explicit Handle(T raw) : raw_(raw) {}
  static Handle share(T raw) {
    if (raw != nullptr) add_ref(raw);
    return Handle(raw);
  }
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (raw_ != nullptr) release(raw_);
  }
  [[nodiscard]] T get() const { return raw_; }
  [[nodiscard]] T give() { return std::exchange(raw_, nullptr); }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  T raw_ = nullptr;
};

using InstanceHandle = Handle<WGPUInstance, wgpuInstanceAddRef, wgpuInstanceRelease>;
using AdapterHandle = Handle<WGPUAdapter, wgpuAdapterAddRef, wgpuAdapterRelease>;
using DeviceHandle = Handle<WGPUDevice, wgpuDeviceAddRef, wgpuDeviceRelease>;
using QueueHandle = Handle<WGPUQueue, wgpuQueueAddRef, wgpuQueueRelease>;
using BufferHandle = Handle<WGPUBuffer, wgpuBufferAddRef, wgpuBufferRelease>;
using BindGroupHandle = Handle<WGPUBindGroup, wgpuBindGroupAddRef, wgpuBindGroupRelease>;
using BindGroupLayoutHandle = Handle<WGPUBindGroupLayout, wgpuBindGroupLayoutAddRef, wgpuBindGroupLayoutRelease>;
using PipelineLayoutHandle = Handle<WGPUPipelineLayout, wgpuPipelineLayoutAddRef, wgpuPipelineLayoutRelease>;
using PipelineHandle = Handle<WGPUComputePipeline, wgpuComputePipelineAddRef, wgpuComputePipelineRelease>;
using ShaderModuleHandle = Handle<WGPUShaderModule, wgpuShaderModuleAddRef, wgpuShaderModuleRelease>;
using EncoderHandle = Handle<WGPUCommandEncoder, wgpuCommandEncoderAddRef, wgpuCommandEncoderRelease>;
using PassHandle = Handle<WGPUComputePassEncoder, wgpuComputePassEncoderAddRef, wgpuComputePassEncoderRelease>;
using CommandsHandle = Handle<WGPUCommandBuffer, wgpuCommandBufferAddRef, wgpuCommandBufferRelease>;

inline WGPUStringView to_wgpu(std::string_view text) { return {text.data(), text.size()}; }

inline std::string from_wgpu(WGPUStringView text) {
  if (text.data == nullptr) return {};
  return text.length == WGPU_STRLEN ? std::string(text.data) : std::string(text.data, text.length);
}

}  // namespace upsweep
