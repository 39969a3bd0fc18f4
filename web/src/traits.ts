// SPDX-License-Identifier: Apache-2.0

/** What planners know of a device: include/upsweep/device_traits.h has the meaning of each field. */
export interface DeviceTraits {
  maxWorkgroupSize: number;
  maxWorkgroupBytes: number;
  maxWorkgroupsPerDimension: number;
  maxStorageBuffers: number;
  maxBindingBytes: number;
  maxBufferBytes: number;
  offsetAlignment: number;
  subgroups: boolean;
  /** 0: unknown. */
  subgroupMinSize: number;
  subgroupMaxSize: number;
  /** WGSL's language feature subgroup_id. */
  subgroupIdBuiltin: boolean;
  /** Subgroup number = local index / subgroup size, as the probe saw it. */
  subgroupIdsFollowIndex: boolean;
  /** Single-pass plans gave right answers in the self-test. */
  lookBack: boolean;
  /** So did sorts that rank in lock-step. */
  lockStep: boolean;
  f16: boolean;
  timestamps: boolean;
  adapter: string;
  adapterVendor: string;
  isCpu: boolean;
  /** Tests only. */
  emulatedSubgroupSize?: number;
  emulatedSubgroupSeed?: number;
  testHiddenChunks?: number;
  testShuffledTiles?: boolean;
  testBrokenLookBack?: boolean;
}

/** Limits and features of a device. `gpu` has the language features: `navigator.gpu`, where there is one. */
export function readTraits(device: GPUDevice, gpu: GPU | undefined): DeviceTraits {
  const { limits } = device;
  const info: Partial<GPUAdapterInfo> = device.adapterInfo ?? {};
  const subgroups = device.features.has("subgroups");
  const adapter = info.description || info.device || `${info.vendor ?? ""} ${info.architecture ?? ""}`.trim();
  return {
    maxWorkgroupSize: Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX),
    maxWorkgroupBytes: limits.maxComputeWorkgroupStorageSize,
    maxWorkgroupsPerDimension: limits.maxComputeWorkgroupsPerDimension,
    maxStorageBuffers: limits.maxStorageBuffersPerShaderStage,
    maxBindingBytes: limits.maxStorageBufferBindingSize,
    maxBufferBytes: limits.maxBufferSize,
    offsetAlignment: Math.max(limits.minStorageBufferOffsetAlignment, limits.minUniformBufferOffsetAlignment),
    subgroups,
    subgroupMinSize: subgroups ? (info.subgroupMinSize ?? 0) : 0,
    subgroupMaxSize: subgroups ? (info.subgroupMaxSize ?? 0) : 0,
    subgroupIdBuiltin: subgroups && gpu?.wgslLanguageFeatures?.has("subgroup_id") === true,
    subgroupIdsFollowIndex: false,
    lookBack: false,
    lockStep: false,
    f16: device.features.has("shader-f16"),
    timestamps: device.features.has("timestamp-query"),
    adapter,
    adapterVendor: info.vendor ?? "",
    // WebGPU does not tell; these are the software adapters that there are.
    isCpu:
      info.isFallbackAdapter === true ||
      /swiftshader|llvmpipe|lavapipe|basic render/i.test(`${adapter} ${info.architecture ?? ""}`),
  };
}

export function withoutSubgroups(traits: DeviceTraits): DeviceTraits {
  return {
    ...traits,
    subgroups: false,
    subgroupMinSize: 0,
    subgroupMaxSize: 0,
    subgroupIdBuiltin: false,
    subgroupIdsFollowIndex: false,
    emulatedSubgroupSize: 0,
  };
}
