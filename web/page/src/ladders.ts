// SPDX-License-Identifier: Apache-2.0
// The ladders of benchmarking/ladder on the reader's device. Plans, inputs and checks come from the module ladders.wasm,
// which is built from the same C++; this file runs and times them.
import { messageOf, UpsweepError } from "../../src/errors.js";
import { USAGE } from "../../src/executor.js";
import { type Plan, Upsweep } from "../../src/index.js";
import { compileModule } from "../../src/wasm.js";
import { type LadderHost, openHost } from "./ladders_host.js";
import { type Recorder, Stopwatch } from "./ladders_stopwatch.js";

export interface LadderStep {
  id: string;
  name: string;
  unit: "GB/s" | "Mkeys/s" | "GFLOP/s";
  /** The kernels of a large size; none of a step of the CPU. */
  wgsl: string[];
  supported: boolean;
  reason?: string;
}

export interface LadderResult {
  stepId: string;
  /** The median; 0 where the step could not be timed. */
  microseconds: number;
  /** (slowest - fastest) / median of the samples. */
  spread: number;
  /** In the unit of the step; of the bytes that any implementation must move. */
  rate: number;
  /** The same bytes by the time, of the copy rate. */
  percentOfCopy?: number;
  /** What the step's own passes read and write. */
  bytesPerItem?: number;
  /** The result is right. */
  valid: boolean;
  message?: string;
}

export type LadderFamily = "reduce" | "scan" | "histogram" | "sort" | "spmv";

export interface LadderOptions {
  /** Entries of the matrix for spmv, which rounds them to whole rows. */
  items: number;
  signal?: AbortSignal;
  onCopy?(gigabytesPerSecond: number): void;
  onResult(result: LadderResult): void;
  onProgress?(done: number, of: number, step: string): void;
}

export interface Ladders {
  steps(family: LadderFamily): LadderStep[];
  /** One at a time. Rejects with the signal's reason when it is aborted, and when the device is lost. */
  run(family: LadderFamily, options: LadderOptions): Promise<void>;
  /** Ends a run, too. The device stays. */
  dispose(): void;
}

const FAMILIES: readonly LadderFamily[] = ["reduce", "scan", "histogram", "sort", "spmv"];

interface HostStep extends LadderStep {
  onCpu: boolean;
}
interface Size {
  itemCount: number;
  outputBytes: number;
  bytesMoved: number;
  flops: number;
}
interface BoundPlan {
  plan: Plan;
  arguments: { name: string; buffer: string }[];
}
interface Work extends BoundPlan {
  buffers: { name: string; sizeBytes: number; fill?: Plan; bytes?: Uint8Array<ArrayBuffer> }[];
  before: BoundPlan[];
}

const POISON = 0xdeadbeef;
const CHUNK_BYTES = 1 << 22;
const GPU_COPY_WORDS = 2 ** 25;
const MOST_CPU_COPY_WORDS = 2 ** 22;
// A module has 2 GB at most. Matrices are made and converted there; the CPU's steps have two arrays.
const MOST_ENTRIES = 2 ** 24;
const MOST_ITEMS_ON_CPU = 2 ** 27;

/** The most items that there is room for: one binding of the device's for each array. */
export function mostItems(device: GPUDevice, family: LadderFamily): number {
  const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
  const words = Math.floor(Math.min(maxStorageBufferBindingSize, maxBufferSize) / 4);
  // Formats with unused slots take more than the entries.
  return family === "spmv" ? Math.min(Math.floor(words / 2), MOST_ENTRIES) : words;
}

export async function openLadders(device: GPUDevice): Promise<Ladders> {
  const [module, up] = await Promise.all([
    compileModule(new URL("../wasm/ladders.wasm", import.meta.url)),
    Upsweep.create(device),
  ]);
  const host = openHost(module);
  try {
    const steps = new Map<LadderFamily, readonly HostStep[]>();
    for (const family of FAMILIES) {
      const answer = await host.call({ call: "steps", family, traits: up.traits });
      steps.set(family, answer["steps"] as HostStep[]);
    }
    return new DeviceLadders(up, module, steps);
  } catch (error) {
    up.dispose();
    throw error;
  } finally {
    host.close();
  }
}

class DeviceLadders implements Ladders {
  readonly #up: Upsweep;
  readonly #module: WebAssembly.Module;
  readonly #steps: ReadonlyMap<LadderFamily, readonly HostStep[]>;
  readonly #end = new AbortController();
  #running = false;

  constructor(up: Upsweep, module: WebAssembly.Module, steps: ReadonlyMap<LadderFamily, readonly HostStep[]>) {
    this.#up = up;
    this.#module = module;
    this.#steps = steps;
    up.device.lost.then((info) => {
      this.#end.abort(new UpsweepError("device", `The device was lost: ${info.message || info.reason}`));
    });
  }

  steps(family: LadderFamily): LadderStep[] {
    return (this.#steps.get(family) ?? []).map(({ id, name, unit, wgsl, supported, reason }) => {
      const step = { id, name, unit, wgsl: [...wgsl], supported };
      return supported || reason === undefined ? step : { ...step, reason };
    });
  }

  async run(family: LadderFamily, options: LadderOptions): Promise<void> {
    const most = mostItems(this.#up.device, family);
    if (!Number.isInteger(options.items) || options.items < 1 || options.items > most) {
      throw new UpsweepError(
        "unsupported",
        `The ladder of ${family} takes 1 to ${most} items here, not ${options.items}.`,
      );
    }
    if (this.#running) throw new UpsweepError("invalid_request", "A ladder is running; wait for it, or abort it.");
    this.#end.signal.throwIfAborted();
    this.#running = true;
    const signals = [this.#end.signal, ...(options.signal === undefined ? [] : [options.signal])];
    // A worker for each run: its memory does not shrink.
    const run = new LadderRun(this.#up, openHost(this.#module), family, options, AbortSignal.any(signals));
    try {
      await run.run((this.#steps.get(family) ?? []).filter((step) => step.supported));
    } finally {
      this.#running = false;
      run.dispose();
      if (this.#end.signal.aborted) this.#up.dispose();
    }
  }

  dispose(): void {
    this.#end.abort(new UpsweepError("invalid_request", "The ladders are closed."));
    if (!this.#running) this.#up.dispose();
  }
}

class LadderRun {
  readonly #up: Upsweep;
  readonly #host: LadderHost;
  readonly #family: LadderFamily;
  readonly #options: LadderOptions;
  readonly #signal: AbortSignal;
  readonly #stopwatch: Stopwatch;
  readonly #shared = new Map<string, GPUBuffer>();
  readonly #owned = new Set<GPUBuffer>();
  #size: Size = { itemCount: 0, outputBytes: 0, bytesMoved: 0, flops: 0 };
  #copyRate = 0;

  constructor(up: Upsweep, host: LadderHost, family: LadderFamily, options: LadderOptions, signal: AbortSignal) {
    this.#up = up;
    this.#host = host;
    this.#family = family;
    this.#options = options;
    this.#signal = signal;
    this.#stopwatch = new Stopwatch(up.device, up.traits.isCpu);
  }

  async run(steps: readonly HostStep[]): Promise<void> {
    const { onProgress, onResult, onCopy } = this.#options;
    onProgress?.(0, steps.length, "copy");
    await this.#measureCopy();
    onCopy?.(this.#copyRate);
    await this.#setSize();
    for (const [done, step] of steps.entries()) {
      onProgress?.(done, steps.length, step.id);
      const result = await this.#runStep(step);
      this.#signal.throwIfAborted();
      onResult(result);
    }
    onProgress?.(steps.length, steps.length, "");
  }

  dispose(): void {
    this.#host.close();
    this.#stopwatch.dispose();
    // What was submitted keeps the buffers that it uses.
    this.#up.executor.releaseScratch();
    for (const buffer of this.#owned) buffer.destroy();
    this.#owned.clear();
  }

  async #runStep(step: HostStep): Promise<LadderResult> {
    try {
      return step.onCpu ? await this.#runOnCpu(step) : await this.#runOnDevice(step);
    } catch (error) {
      this.#signal.throwIfAborted();
      // The other steps may still run. A module that failed has forgotten the size.
      await this.#setSize();
      return { stepId: step.id, microseconds: 0, spread: 0, rate: 0, valid: false, message: messageOf(error) };
    }
  }

  async #setSize(): Promise<void> {
    this.#size = (await this.#call("size", { items: this.#options.items })) as unknown as Size;
  }

  async #runOnCpu(step: HostStep): Promise<LadderResult> {
    if (this.#size.itemCount > MOST_ITEMS_ON_CPU) {
      throw new UpsweepError("unsupported", "The page's module has no memory for so many items.");
    }
    const { ms, correct } = await this.#host.timeCpu(this.#family, this.#signal);
    return this.#result(step, ms, correct);
  }

  async #runOnDevice(step: HostStep): Promise<LadderResult> {
    const traits = this.#up.traits;
    const have = [...this.#shared.keys()];
    const work = (await this.#call("work", { step: step.id, traits, have })) as unknown as Work;
    for (const { name, sizeBytes, fill, bytes } of work.buffers) {
      const buffer = await this.#newBuffer(name, sizeBytes);
      this.#shared.set(name, buffer);
      if (bytes !== undefined) await this.#write(buffer, bytes);
      if (fill !== undefined) await this.#submit(fill, { output: buffer });
    }
    for (const before of work.before) await this.#submit(before.plan, this.#views(before));
    await this.#poison();
    const views = this.#views(work);
    await this.#submit(work.plan, views);
    const correct = await this.#check();
    const record: Recorder = (pass) => this.#up.record(pass, work.plan, views);
    const ms = await this.#stopwatch.time({ record, dispatches: work.plan.dispatches.length }, this.#signal);
    this.#up.releaseBindings();
    let bytes = 0;
    for (const { bytesRead, bytesWritten } of work.plan.dispatches) bytes += bytesRead + bytesWritten;
    return { ...this.#result(step, ms, correct), bytesPerItem: bytes / this.#size.itemCount };
  }

  #result(step: HostStep, ms: { median: number; min: number; max: number }, valid: boolean): LadderResult {
    const { itemCount, bytesMoved, flops } = this.#size;
    const seconds = ms.median * 1e-3;
    const per = (count: number, unit: number): number => (seconds > 0 ? count / seconds / unit : 0);
    const bytesRate = per(bytesMoved, 1e9);
    const result: LadderResult = {
      stepId: step.id,
      microseconds: ms.median * 1e3,
      spread: seconds > 0 ? (ms.max - ms.min) / ms.median : 0,
      rate: step.unit === "GB/s" ? bytesRate : step.unit === "Mkeys/s" ? per(itemCount, 1e6) : per(flops, 1e9),
      valid,
    };
    if (this.#copyRate > 0) result.percentOfCopy = (100 * bytesRate) / this.#copyRate;
    if (!valid) result.message = "The result is wrong.";
    else if (seconds === 0) result.message = "The clock is too coarse for this.";
    return result;
  }

  // Of buffers that no cache holds, where the device has room for them.
  async #measureCopy(): Promise<void> {
    const { traits } = this.#up;
    const room = 2 ** Math.floor(Math.log2(mostItems(this.#up.device, "reduce")));
    const asked = 2 ** Math.ceil(Math.log2(this.#options.items));
    let words = Math.min(room, traits.isCpu ? Math.min(Math.max(asked, 2 ** 16), MOST_CPU_COPY_WORDS) : GPU_COPY_WORDS);
    let buffers: [GPUBuffer, GPUBuffer] | undefined;
    while (buffers === undefined) {
      try {
        buffers = [await this.#newBuffer("copy from", words * 4), await this.#newBuffer("copy to", words * 4)];
      } catch (error) {
        if (words <= 2 ** 16) throw error;
        words /= 2;
      }
    }
    const [input, output] = buffers;
    const fill = (await this.#call("fill", { words, traits }))["plan"] as Plan;
    await this.#submit(fill, { output: input });
    const whole = Math.max(1, Math.floor(words / 4 / Math.min(256, traits.maxWorkgroupSize)));
    let best = Number.POSITIVE_INFINITY;
    for (const grid of traits.isCpu ? [64, 1024] : [1024, 4096, whole]) {
      const workgroups = Math.min(grid, whole);
      const plan = (await this.#call("copy", { words, workgroups, traits }))["plan"] as Plan;
      await this.#up.prepare(plan);
      const record: Recorder = (pass) => this.#up.record(pass, plan, { input, output });
      const { median } = await this.#stopwatch.time({ record, dispatches: 1 }, this.#signal);
      if (median === 0 || median >= best) continue;
      best = median;
      this.#stopwatch.setWarmUp(record, median);
    }
    if (Number.isFinite(best)) this.#copyRate = (words * 8) / best / 1e6;
  }

  // An answer of an earlier step must not pass.
  async #poison(): Promise<void> {
    const words = this.#size.outputBytes / 4;
    const { traits } = this.#up;
    const answer = await this.#call("poison", { words, word: POISON, traits });
    await this.#submit(answer["plan"] as Plan, { output: this.#buffer("output") });
  }

  async #check(): Promise<boolean> {
    await this.#call("begin_check", {});
    const output = this.#buffer("output");
    const { outputBytes } = this.#size;
    const { device } = this.#up;
    const staging = device.createBuffer({
      label: "ladders",
      size: Math.min(CHUNK_BYTES, outputBytes),
      usage: USAGE.mapRead | USAGE.copyDst,
    });
    try {
      for (let at = 0; at < outputBytes; at += CHUNK_BYTES) {
        const size = Math.min(CHUNK_BYTES, outputBytes - at);
        const encoder = device.createCommandEncoder({ label: "ladders" });
        encoder.copyBufferToBuffer(output, at, staging, 0, size);
        device.queue.submit([encoder.finish()]);
        await staging.mapAsync(1, 0, size);
        const words = new Uint8Array(staging.getMappedRange(0, size).slice(0));
        staging.unmap();
        await this.#call("check", { words });
      }
    } finally {
      staging.destroy();
    }
    return (await this.#call("end_check", {}))["correct"] === true;
  }

  async #submit(plan: Plan, views: Readonly<Record<string, GPUBuffer>>): Promise<void> {
    this.#signal.throwIfAborted();
    await this.#up.prepare(plan);
    const encoder = this.#up.device.createCommandEncoder({ label: "ladders" });
    this.#up.record(encoder, plan, views);
    this.#up.device.queue.submit([encoder.finish()]);
    await this.#up.device.queue.onSubmittedWorkDone();
  }

  // In pieces, so that the tab lives.
  async #write(buffer: GPUBuffer, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const { queue } = this.#up.device;
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      this.#signal.throwIfAborted();
      queue.writeBuffer(buffer, at, bytes, at, Math.min(CHUNK_BYTES, bytes.length - at));
      await queue.onSubmittedWorkDone();
    }
  }

  #views(bound: BoundPlan): Record<string, GPUBuffer> {
    return Object.fromEntries(bound.arguments.map(({ name, buffer }) => [name, this.#buffer(buffer)]));
  }

  #buffer(name: string): GPUBuffer {
    const buffer = this.#shared.get(name);
    if (buffer === undefined) throw new UpsweepError("internal", `The ladder has no buffer "${name}".`);
    return buffer;
  }

  async #newBuffer(name: string, size: number): Promise<GPUBuffer> {
    const { device } = this.#up;
    if (size > device.limits.maxBufferSize) {
      throw new UpsweepError(
        "unsupported",
        `A buffer of ${size} bytes is larger than the device's limit (${device.limits.maxBufferSize}).`,
      );
    }
    device.pushErrorScope("out-of-memory");
    const buffer = device.createBuffer({
      label: `ladders ${name}`,
      size,
      usage: USAGE.storage | USAGE.copySrc | USAGE.copyDst,
    });
    const failure = await device.popErrorScope();
    if (failure !== null) {
      buffer.destroy();
      throw new UpsweepError("device", `The device has no memory for ${size} bytes.`);
    }
    this.#owned.add(buffer);
    return buffer;
  }

  #call(call: string, request: object): Promise<Record<string, unknown>> {
    return this.#host.call({ call, family: this.#family, ...request }, this.#signal);
  }
}
