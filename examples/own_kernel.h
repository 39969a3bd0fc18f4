// SPDX-License-Identifier: Apache-2.0
// A compute kernel of the program's own, with the buffers that it uses at @group(0).
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "own_device.h"

class OwnKernel {
 public:
  // The entry point is `main`; buffers are bound at 0, 1, ... in their order.
  OwnKernel(const OwnDevice& own, const char* wgsl, std::initializer_list<WGPUBuffer> buffers) {
    WGPUShaderSourceWGSL source = WGPU_SHADER_SOURCE_WGSL_INIT;
    source.code = {wgsl, std::strlen(wgsl)};
    WGPUShaderModuleDescriptor module = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
    module.nextInChain = &source.chain;
    const WGPUShaderModule shader = wgpuDeviceCreateShaderModule(own.device, &module);
    WGPUComputePipelineDescriptor descriptor = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
    descriptor.compute.module = shader;
    descriptor.compute.entryPoint = {"main", 4};
    pipeline_ = wgpuDeviceCreateComputePipeline(own.device, &descriptor);
    wgpuShaderModuleRelease(shader);

    std::vector<WGPUBindGroupEntry> entries;
    for (const WGPUBuffer buffer : buffers) {
      WGPUBindGroupEntry entry = WGPU_BIND_GROUP_ENTRY_INIT;
      entry.binding = static_cast<std::uint32_t>(entries.size());
      entry.buffer = buffer;
      entries.push_back(entry);
    }
    const WGPUBindGroupLayout layout = wgpuComputePipelineGetBindGroupLayout(pipeline_, 0);
    WGPUBindGroupDescriptor group = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
    group.layout = layout;
    group.entryCount = entries.size();
    group.entries = entries.data();
    group_ = wgpuDeviceCreateBindGroup(own.device, &group);
    wgpuBindGroupLayoutRelease(layout);
  }
  OwnKernel(const OwnKernel&) = delete;
  OwnKernel& operator=(const OwnKernel&) = delete;
  ~OwnKernel() {
    wgpuBindGroupRelease(group_);
    wgpuComputePipelineRelease(pipeline_);
  }

  void dispatch(WGPUComputePassEncoder pass, std::uint32_t workgroups) const {
    bind(pass);
    wgpuComputePassEncoderDispatchWorkgroups(pass, workgroups, 1, 1);
  }
  // With the three u32 at the beginning of `grid` as they are when the dispatch runs.
  void dispatch_indirect(WGPUComputePassEncoder pass, WGPUBuffer grid) const {
    bind(pass);
    wgpuComputePassEncoderDispatchWorkgroupsIndirect(pass, grid, 0);
  }

 private:
  void bind(WGPUComputePassEncoder pass) const {
    wgpuComputePassEncoderSetPipeline(pass, pipeline_);
    wgpuComputePassEncoderSetBindGroup(pass, 0, group_, 0, nullptr);
  }

  WGPUComputePipeline pipeline_ = nullptr;
  WGPUBindGroup group_ = nullptr;
};
