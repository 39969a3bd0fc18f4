// SPDX-License-Identifier: Apache-2.0
// The WebGPU handles that appear in public signatures, as webgpu.h declares them. Repeating a typedef is legal C++,
// so the headers of this library need no WebGPU SDK in the include path.
#pragma once

// NOLINTBEGIN(modernize-use-using)
typedef struct WGPUAdapterImpl* WGPUAdapter;
typedef struct WGPUBufferImpl* WGPUBuffer;
typedef struct WGPUCommandEncoderImpl* WGPUCommandEncoder;
typedef struct WGPUComputePassEncoderImpl* WGPUComputePassEncoder;
typedef struct WGPUDeviceImpl* WGPUDevice;
typedef struct WGPUInstanceImpl* WGPUInstance;
typedef struct WGPUQueueImpl* WGPUQueue;
// NOLINTEND(modernize-use-using)
