// SPDX-License-Identifier: Apache-2.0
import { messageOf, UpsweepError, watched } from "./errors.js";
import { Executor, type ExecutorStatistics, type RecordTarget, USAGE } from "./executor.js";
import type { ArgumentSlot, Kernel, Plan } from "./plan.js";
import { loadPlanner, type PlanAnswer, type Planner } from "./planner.js";
import * as runs from "./runs.js";
import { lockStepTest, NO_REPORT, type ProbeReport, prepareTests, probe, selfTest } from "./self_test.js";
import { type DeviceTraits, readTraits } from "./traits.js";
import type { Arguments } from "./views.js";
import type { WasmSource } from "./wasm.js";

export interface UpsweepOptions {
  /** Where upsweep.wasm is, if not beside this file. Only the first call in a realm looks at it. */
  wasm?: WasmSource;
  /** `navigator.gpu` where there is no navigator, as in Node: asked for adapters and for features of WGSL. */
  gpu?: GPU;
  /** Run the probe's kernels (a few milliseconds). Without it plans assume the least of subgroups. Default true. */
  probe?: boolean;
  /**
   * Try the single-pass kernels with look-back (a few tenths of a second where the browser has not compiled them yet).
   * Without it plans take two passes. Default: on GPUs.
   */
  selfTest?: boolean;
  /**
   * Cached bind groups keep buffers alive that are neither destroyed nor used any more: those of the last 4 recordings,
   * and of earlier ones only while all buffers of cached groups are about this large together, in bytes. Default 2^29.
   */
  keptBufferBytes?: number;
}

/**
 * Parallel primitives on one WebGPU device. Everything that it records must be submitted to the queue of that device:
 * recordings share scratch memory, which is safe because a queue runs them in order.
 */
export class Upsweep implements runs.ArrayHost {
  readonly device: GPUDevice;
  readonly planner: Planner;
  readonly executor: Executor;
  /** Plans by what they were asked for. */
  readonly plans = new Map<string, PlanAnswer>();

  readonly reduce = new runs.Reduce(this);
  readonly scan = new runs.Scan(this);
  readonly select = new runs.Select(this);
  readonly partition = new runs.Partition(this);
  readonly unique = new runs.Unique(this);
  readonly runLength = new runs.RunLength(this);
  readonly reduceByKey = new runs.ReduceByKey(this);
  readonly adjacentDifference = new runs.AdjacentDifference(this);
  readonly histogram = new runs.Histogram(this);
  readonly sort = new runs.Sort(this);
  readonly topK = new runs.TopK(this);
  readonly search = new runs.Search(this);
  readonly merge = new runs.Merge(this);
  readonly mergeSort = new runs.MergeSort(this);
  readonly isSorted = new runs.IsSorted(this);
  readonly spmv = new runs.Spmv(this);
  readonly spmvTiles = new runs.SpmvTiles(this);

  /**
   * Gets errors that come late: what a compiler says of kernels that `record` met for the first time. Without it they
   * wait in `takeError`.
   */
  onerror: ((error: UpsweepError) => void) | undefined;

  #traits: DeviceTraits;
  #kernels = new Map<string, Kernel>();
  #errors: UpsweepError[] = [];
  #report: ProbeReport = { ...NO_REPORT };
  #ownsDevice = false;

  private constructor(device: GPUDevice, planner: Planner, gpu: GPU | undefined, keptBytes: number | undefined) {
    this.device = device;
    this.planner = planner;
    this.#traits = readTraits(device, gpu);
    this.executor = new Executor(device, this.#traits, (error) => this.#late(error), keptBytes);
  }

  /**
   * Works on the caller's device: request the features subgroups, shader-f16 and timestamp-query and raised limits for
   * it where the adapter has them. Without a device it opens one of its own, which `dispose` destroys.
   */
  static async create(device?: GPUDevice, options: UpsweepOptions = {}): Promise<Upsweep> {
    const isGiven = device !== undefined && device !== null;
    if (isGiven && !("queue" in device)) {
      throw new UpsweepError("invalid_request", "Upsweep.create was given something else than a GPUDevice.");
    }
    const gpu = options.gpu ?? (globalThis.navigator as Navigator | undefined)?.gpu;
    const [planner, used] = await Promise.all([loadPlanner(options.wasm), device ?? openDevice(gpu)]);
    const up = new Upsweep(used, planner, gpu, options.keptBufferBytes);
    up.#ownsDevice = !isGiven;
    try {
      if (options.probe !== false) {
        await probe(up, up.#report);
        if (options.selfTest ?? !up.traits.isCpu) {
          // Elsewhere nothing asks for it.
          const mayRankInOrder = up.traits.adapterVendor === "nvidia";
          await prepareTests(up, mayRankInOrder);
          await selfTest(up, up.#report);
          if (mayRankInOrder) await lockStepTest(up, up.#report);
        }
      }
    } catch (error) {
      up.dispose();
      throw error;
    }
    return up;
  }

  /** Limits, features and what the probe found: what planners see. */
  get traits(): DeviceTraits {
    return this.#traits;
  }
  /** For tests and tools. */
  overrideTraits(traits: DeviceTraits): void {
    this.#traits = traits;
    this.plans.clear();
  }
  get probeReport(): Readonly<ProbeReport> {
    return this.#report;
  }
  get statistics(): ExecutorStatistics {
    return this.executor.statistics;
  }

  /** Records a plan that `plan` of a primitive made, or one of the caller's own. */
  record(target: RecordTarget, plan: Plan, views: Arguments): void {
    this.executor.record(target, plan, views);
  }
  prepare(plan: Plan): Promise<void> {
    return this.executor.prepare(plan);
  }

  /** The oldest error that came late and was not taken yet. */
  takeError(): UpsweepError | undefined {
    return this.#errors.shift();
  }

  /** Drops all cached bind groups, which keep the caller's buffers alive (see `keptBufferBytes`). */
  releaseBindings(): void {
    this.executor.releaseBindings();
  }

  /**
   * Frees working memory until plans need it again: after the last large problem, or when WebGPU reported that there is
   * not enough memory for it (`out-of-memory`), which leaves it invalid. Submit what was recorded first.
   */
  releaseScratch(): void {
    this.executor.releaseScratch();
  }

  /** Frees the buffers that it made, and the device if it is its own. Submit what was recorded first. */
  dispose(): void {
    this.executor.dispose();
    this.plans.clear();
    this.#kernels.clear();
    if (this.#ownsDevice) this.device.destroy();
  }
  [Symbol.dispose](): void {
    this.dispose();
  }

  intern(answer: PlanAnswer): PlanAnswer {
    const kernels = answer.plan.kernels.map((kernel) => {
      const known = this.#kernels.get(kernel.text);
      if (known === undefined) this.#kernels.set(kernel.text, kernel);
      return known ?? kernel;
    });
    return { ...answer, plan: { ...answer.plan, kernels } };
  }

  /** Runs a plan on arrays: the bytes of the named arguments afterwards. */
  async runPlan(
    plan: Plan,
    inputs: Record<string, ArrayBufferView | undefined>,
    outputs: readonly string[],
  ): Promise<ArrayBuffer[]> {
    await this.executor.prepare(plan);
    const { device } = this;
    const owned: GPUBuffer[] = [];
    const newBuffer = (size: number, usage: number, label: string) => {
      const buffer = this.executor.createBuffer(size, usage, label);
      owned.push(buffer);
      return buffer;
    };
    try {
      const { result: copies, refusal } = watched(device, () => {
        const views: Record<string, GPUBuffer> = {};
        for (const slot of plan.arguments) {
          const usage = USAGE.storage | USAGE.copySrc | USAGE.copyDst;
          const buffer = newBuffer(slot.sizeBytes, usage, slot.name);
          views[slot.name] = buffer;
          const input = inputs[slot.name];
          checkInput(slot, input);
          if (input !== undefined) write(device.queue, buffer, input);
        }
        const encoder = device.createCommandEncoder({ label: `upsweep.${plan.name}` });
        this.executor.record(encoder, plan, views);
        const made = outputs.map((name) => {
          const slot = plan.arguments.find((argument) => argument.name === name);
          if (slot === undefined || slot.sizeBytes === 0) return undefined;
          const from = views[name] as GPUBuffer;
          const staging = newBuffer(from.size, USAGE.mapRead | USAGE.copyDst, "readback");
          encoder.copyBufferToBuffer(from, 0, staging, 0, from.size);
          return { staging, size: slot.sizeBytes };
        });
        device.queue.submit([encoder.finish()]);
        return made;
      });
      const bytes = Promise.all(
        copies.map(async (copy) => {
          if (copy === undefined) return new ArrayBuffer(0);
          await copy.staging.mapAsync(1);
          return copy.staging.getMappedRange().slice(0, copy.size);
        }),
      );
      bytes.catch(() => undefined); // what was refused says more
      const refused = await refusal;
      if (refused !== undefined) {
        // Memory that the device had not enough of is invalid for ever.
        this.executor.forgetScratch();
        throw new Error(refused);
      }
      return await bytes;
    } catch (error) {
      if (error instanceof UpsweepError) throw error;
      const why = (await whyLost(device)) ?? messageOf(error);
      throw new UpsweepError("device", `Running ${plan.name} failed: ${why}`, { cause: error });
    } finally {
      // Cached bind groups would keep this call's buffers.
      this.executor.releaseBindings();
      for (const buffer of owned) buffer.destroy();
    }
  }

  #late(error: UpsweepError): void {
    if (this.onerror !== undefined) this.onerror(error);
    // A program that never takes them must not grow for ever.
    else if (this.#errors.length < 64) this.#errors.push(error);
  }
}

function checkInput({ name, sizeBytes, isWritten }: ArgumentSlot, input: ArrayBufferView | undefined): void {
  if (input === undefined) {
    if (isWritten || sizeBytes === 0) return;
    throw new UpsweepError("invalid_request", `Argument ${name} has no array.`);
  }
  // Buffers are whole words.
  if (Math.ceil(input.byteLength / 4) === Math.ceil(sizeBytes / 4)) return;
  throw new UpsweepError(
    "invalid_request",
    `The array of argument ${name} has ${input.byteLength} bytes; the plan takes ${sizeBytes}.`,
  );
}

// A lost device refuses without a word, and its promise may settle a moment later.
async function whyLost(device: GPUDevice): Promise<string | undefined> {
  const moment = new Promise<undefined>((resolve) => setTimeout(resolve, 0));
  const lost = await Promise.race([device.lost, moment]);
  return lost === undefined ? undefined : `the device was lost (${(lost.message || lost.reason).replace(/\.$/, "")}).`;
}

function write(queue: GPUQueue, buffer: GPUBuffer, from: ArrayBufferView): void {
  const bytes = new Uint8Array(from.buffer, from.byteOffset, from.byteLength) as Uint8Array<ArrayBuffer>;
  const whole = Math.floor(bytes.length / 4) * 4;
  if (whole !== 0) queue.writeBuffer(buffer, 0, bytes, 0, whole);
  if (whole === bytes.length) return;
  const last = new Uint8Array(4);
  last.set(bytes.subarray(whole));
  queue.writeBuffer(buffer, whole, last);
}

/** What kernels can make use of. */
export const USED_FEATURES: readonly GPUFeatureName[] = ["subgroups", "shader-f16", "timestamp-query"];
/** What plans depend on. */
export const USED_LIMITS = [
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupStorageSize",
  "maxComputeWorkgroupsPerDimension",
  "maxStorageBuffersPerShaderStage",
  "maxStorageBufferBindingSize",
  "maxBufferSize",
  "minStorageBufferOffsetAlignment",
  "minUniformBufferOffsetAlignment",
] as const;

/** A device with what kernels can use: subgroups, f16, timestamps, and the adapter's own limits. */
export async function openDevice(gpu?: GPU): Promise<GPUDevice> {
  const from = gpu ?? (globalThis.navigator as Navigator | undefined)?.gpu;
  if (from === undefined) throw new UpsweepError("unsupported", "There is no WebGPU here: navigator.gpu is missing.");
  const adapter = await from.requestAdapter({ powerPreference: "high-performance" });
  if (adapter === null) throw new UpsweepError("device", "No WebGPU adapter was found.");
  const requiredLimits: Record<string, number> = {};
  for (const name of USED_LIMITS) requiredLimits[name] = adapter.limits[name];
  try {
    return await adapter.requestDevice({
      label: "upsweep",
      requiredFeatures: USED_FEATURES.filter((feature) => adapter.features.has(feature)),
      requiredLimits,
    });
  } catch (error) {
    throw new UpsweepError("device", `The adapter gave no device: ${messageOf(error)}`, { cause: error });
  }
}
