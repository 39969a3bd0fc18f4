// SPDX-License-Identifier: Apache-2.0
// Runs plans on a device: resolve the arguments, check them, then write one dispatch after the other. Dull on purpose;
// src/exec/record.cpp is the same in C++.
import { ConstantPool } from "./constants.js";
import { UpsweepError, withContext } from "./errors.js";
import { PipelineCache, type SharedBindings } from "./pipelines.js";
import type { BoundRange, Dispatch, Kernel, KernelBinding, Plan, SlotId } from "./plan.js";
import { type Arguments, resolveViews, type View } from "./views.js";

/** Where commands go: an encoder (each plan gets a compute pass of its own) or an open compute pass. */
export type RecordTarget = GPUCommandEncoder | GPUComputePassEncoder;

// Values of GPUBufferUsage: not every host has the globals.
export const USAGE = {
  mapRead: 0x1,
  copySrc: 0x4,
  copyDst: 0x8,
  uniform: 0x40,
  storage: 0x80,
  indirect: 0x100,
  queryResolve: 0x200,
} as const;

const GRIDS_GROUP = 1;
const MOST_BIND_GROUPS = 1024;
const KEPT_BUFFER_BYTES = 512 * 2 ** 20;
// Recordings after which a buffer may be stale.
const PATIENCE = 4;

export interface DeviceSizes {
  offsetAlignment: number;
  maxBindingBytes: number;
  maxBufferBytes: number;
}

interface BoundBuffer {
  binding: number;
  buffer: GPUBuffer;
  offset: number;
  size: number;
}

interface CachedGroup {
  readonly group: GPUBindGroup;
  readonly bound: readonly BoundBuffer[];
  /** The number of the last recording that used it. */
  lastRecording: number;
}

// A dispatch with everything that encoding it needs.
interface ReadyDispatch {
  pipeline: GPUComputePipeline;
  cached: CachedGroup;
  grid: readonly [number, number, number] | undefined;
  indirectBuffer: GPUBuffer | undefined;
  indirectOffset: number;
}

// What a plan was last recorded with.
interface Recording {
  views: readonly View[];
  generation: number;
  ready: readonly ReadyDispatch[];
}

export interface ExecutorStatistics {
  /** Pipelines, bind groups and buffers made so far. */
  pipelines: number;
  bindGroups: number;
  buffers: number;
  /** Held now. */
  scratchBytes: number;
}

export class Executor {
  readonly pipelines: PipelineCache;
  readonly #device: GPUDevice;
  readonly #sizes: DeviceSizes;
  readonly #constants: ConstantPool;
  readonly #scratch = new Map<number, GPUBuffer>();
  readonly #states = new Map<string, GPUBuffer>();
  readonly #owned = new Set<GPUBuffer>();
  readonly #keptBytes: number;
  #bindGroups = new Map<string, CachedGroup>();
  #recording = 0;
  // Of the buffers of new groups since the last #dropStale().
  #bytesSince = 0;
  #bufferIds = new WeakMap<GPUBuffer, number>();
  #nextBufferId = 0;
  #recordings = new WeakMap<Plan, Recording>();
  // Changes when something that recordings refer to is dropped.
  #generation = 0;
  #isDisposed = false;
  #bindGroupCount = 0;
  #bufferCount = 0;

  constructor(
    device: GPUDevice,
    sizes: DeviceSizes,
    late: (error: UpsweepError) => void,
    keptBytes = KEPT_BUFFER_BYTES,
  ) {
    this.#device = device;
    this.#keptBytes = keptBytes;
    this.#sizes = sizes;
    this.pipelines = new PipelineCache(device, (error) => {
      this.releaseBindings(); // what is remembered of recordings has the broken pipeline in it
      late(error);
    });
    const usage = USAGE.uniform | USAGE.storage | USAGE.copyDst;
    this.#constants = new ConstantPool(device.queue, sizes.offsetAlignment, (size) =>
      this.#ownBuffer(size, usage, "constants"),
    );
  }

  get statistics(): ExecutorStatistics {
    let scratchBytes = 0;
    for (const buffer of this.#scratch.values()) scratchBytes += buffer.size;
    return {
      pipelines: this.pipelines.created,
      bindGroups: this.#bindGroupCount,
      buffers: this.#bufferCount,
      scratchBytes,
    };
  }

  async prepare(plan: Plan): Promise<void> {
    this.#checkAlive();
    try {
      await Promise.all(plan.kernels.map((kernel) => this.pipelines.prepare(kernel)));
    } catch (error) {
      throw withContext(error, `preparing ${plan.name}`);
    }
  }

  /** An error leaves the target as it was. */
  record(target: RecordTarget, plan: Plan, views: Arguments): void {
    this.#checkAlive();
    const into = Object(target) as object;
    if (!("beginComputePass" in into || "dispatchWorkgroups" in into)) {
      throw new UpsweepError("invalid_request", "What is recorded into is neither an encoder nor a compute pass.");
    }
    const resolved = resolveViews(plan, views);
    if (plan.dispatches.length === 0) return;
    const ready = this.#readyDispatches(plan, resolved);
    const own = "beginComputePass" in target ? target.beginComputePass({ label: plan.name }) : undefined;
    const pass = own ?? (target as GPUComputePassEncoder);
    pass.pushDebugGroup(plan.name);
    for (const dispatch of ready) {
      pass.setPipeline(dispatch.pipeline);
      pass.setBindGroup(0, dispatch.cached.group);
      if (dispatch.indirectBuffer !== undefined) {
        pass.dispatchWorkgroupsIndirect(dispatch.indirectBuffer, dispatch.indirectOffset);
      } else if (dispatch.grid !== undefined) {
        pass.dispatchWorkgroups(...dispatch.grid);
      }
    }
    pass.popDebugGroup();
    own?.end();
  }

  /** Drops cached bind groups, which keep the caller's buffers alive. */
  releaseBindings(): void {
    this.#bindGroups.clear();
    this.#bytesSince = 0;
    this.#forgetRecordings();
  }

  #forgetRecordings(): void {
    this.#recordings = new WeakMap();
    ++this.#generation;
  }

  // Buffers that only groups still name would fill the memory. They stay from the last used on, as many as the bytes
  // allow; groups that name another are dropped.
  #dropStale(): void {
    this.#bytesSince = 0;
    const before = this.#bindGroups.size;
    const newestFirst = [...this.#bindGroups].sort(([, a], [, b]) => b.lastRecording - a.lastRecording);
    const kept = new Set<GPUBuffer>();
    let bytes = 0;
    for (const [key, { bound, lastRecording }] of newestFirst) {
      let more = 0;
      for (const { buffer } of bound) more += kept.has(buffer) ? 0 : buffer.size;
      if (more !== 0 && bytes + more > this.#keptBytes && lastRecording + PATIENCE < this.#recording) {
        this.#bindGroups.delete(key);
        continue;
      }
      bytes += more;
      for (const { buffer } of bound) kept.add(buffer);
    }
    if (this.#bindGroups.size < before) this.#forgetRecordings(); // they name buffers, too
  }

  /** Makes working memory anew when plans need it next. Commands recorded before keep the old one. */
  forgetScratch(): void {
    this.releaseBindings();
    for (const buffer of [...this.#scratch.values(), ...this.#states.values()]) this.#owned.delete(buffer);
    this.#scratch.clear();
    this.#states.clear();
  }

  /** Frees working memory until plans need it again. What was recorded must have been submitted. */
  releaseScratch(): void {
    const held = [...this.#scratch.values(), ...this.#states.values()];
    this.forgetScratch();
    for (const buffer of held) buffer.destroy();
  }

  dispose(): void {
    this.#isDisposed = true;
    this.releaseBindings();
    this.#constants.clear();
    for (const buffer of this.#owned) buffer.destroy();
    this.#owned.clear();
    this.#scratch.clear();
    this.#states.clear();
  }

  // Buffers made from here on would be nobody's.
  #checkAlive(): void {
    if (this.#isDisposed) throw new UpsweepError("invalid_request", "This Upsweep has been disposed of.");
  }

  createBuffer(size: number, usage: number, label: string): GPUBuffer {
    if (size > this.#sizes.maxBufferBytes) {
      throw new UpsweepError(
        "unsupported",
        `A buffer of ${size} bytes is larger than the device's limit (${this.#sizes.maxBufferBytes}).`,
      );
    }
    ++this.#bufferCount;
    return this.#device.createBuffer({ label: `upsweep.${label}`, size: Math.ceil(Math.max(size, 4) / 4) * 4, usage });
  }

  #ownBuffer(size: number, usage: number, label: string): GPUBuffer {
    const buffer = this.createBuffer(size, usage, label);
    this.#owned.add(buffer);
    return buffer;
  }

  #readyDispatches(plan: Plan, views: readonly View[]): readonly ReadyDispatch[] {
    ++this.#recording;
    const last = this.#recordings.get(plan);
    if (last?.generation === this.#generation && last.views.every((view, i) => isSameView(view, views[i] as View))) {
      for (const { cached } of last.ready) cached.lastRecording = this.#recording;
      return last.ready;
    }
    this.#ensureScratch(plan);
    if (this.#constants.isFull) {
      this.#constants.clear();
      this.releaseBindings();
    }
    if (this.#bindGroups.size + plan.dispatches.length > MOST_BIND_GROUPS) this.releaseBindings();
    if (this.#bytesSince > this.#keptBytes / 2) this.#dropStale();
    const ready = plan.dispatches.map((dispatch, step) => {
      const kernel = plan.kernels[dispatch.kernel] as Kernel;
      try {
        return this.#readyDispatch(plan, dispatch, kernel, views);
      } catch (error) {
        throw withContext(error, `recording pass ${step} (${kernel.name}) of ${plan.name}`);
      }
    });
    this.#recordings.set(plan, { views, generation: this.#generation, ready });
    return ready;
  }

  #readyDispatch(plan: Plan, dispatch: Dispatch, kernel: Kernel, views: readonly View[]): ReadyDispatch {
    const params = new Uint8Array(Math.ceil(dispatch.params.length / 16) * 16);
    params.set(dispatch.params);
    const words = new Uint32Array(params.buffer);
    const bound = dispatch.bindings.map((range) => this.#bind(plan, range, views, words));
    if (dispatch.alikeFields !== undefined) {
      const [a, b] = dispatch.alikeFields.map((field) => words[field] as number) as [number, number];
      if (a % 4 !== b % 4) {
        throw new UpsweepError(
          "invalid_request",
          "The inputs begin differently modulo four items, and the plan reads four at a time; give their offsets " +
            "when planning.",
        );
      }
    }
    const shared = findShared(kernel, bound, this.#sizes.offsetAlignment);
    if (params.length !== 0) {
      const place = this.#constants.put(params);
      const uniform = kernel.bindings.find((binding) => binding.kind === "uniform") as KernelBinding;
      bound.push({ binding: uniform.index, buffer: place.buffer, offset: place.offset, size: params.length });
    }
    const pipeline = this.pipelines.get(kernel, shared);
    const cached = this.#bindGroup(pipeline.id, pipeline.layout, kernel, bound);
    const { indirect, grid } = dispatch;
    if (indirect === undefined) {
      return { pipeline: pipeline.pipeline, cached, grid, indirectBuffer: undefined, indirectOffset: 0 };
    }
    const from = this.#gridOf(plan, indirect.slot, views);
    return {
      pipeline: pipeline.pipeline,
      cached,
      grid: undefined,
      indirectBuffer: from.buffer,
      indirectOffset: from.offset + indirect.offsetBytes,
    };
  }

  #gridOf(plan: Plan, slot: SlotId, views: readonly View[]): { buffer: GPUBuffer; offset: number } {
    if (slot.kind === "argument") return views[slot.index] as View;
    const scratch = plan.scratch[slot.index];
    if (scratch === undefined) throw new UpsweepError("internal", "A grid is neither an argument nor scratch.");
    return { buffer: this.#scratch.get(scratch.group) as GPUBuffer, offset: scratch.offsetBytes };
  }

  #bind(plan: Plan, range: BoundRange, views: readonly View[], params: Uint32Array): BoundBuffer {
    const { slot, binding } = range;
    switch (slot.kind) {
      case "argument":
        return this.#bindArgument(plan, range, views[slot.index] as View, params);
      case "scratch": {
        const scratch = plan.scratch[slot.index] as Plan["scratch"][number];
        const buffer = this.#scratch.get(scratch.group) as GPUBuffer;
        return { binding, buffer, offset: scratch.offsetBytes + range.offsetBytes, size: range.sizeBytes };
      }
      case "state": {
        // All of it, whatever this plan needs: kernels keep in order what other plans left there.
        const state = this.#states.get((plan.states[slot.index] as Plan["states"][number]).name) as GPUBuffer;
        const most = Math.floor(this.#sizes.maxBindingBytes / 16) * 16;
        return { binding, buffer: state, offset: 0, size: Math.min(state.size, most) };
      }
      case "constant": {
        const place = this.#constants.put(plan.constants[slot.index] as Uint8Array<ArrayBuffer>);
        return { binding, buffer: place.buffer, offset: place.offset + range.offsetBytes, size: range.sizeBytes };
      }
    }
  }

  // The range of an argument, from the last aligned offset before it; the params learn of the items in between.
  #bindArgument(plan: Plan, range: BoundRange, view: View, params: Uint32Array): BoundBuffer {
    const slot = plan.arguments[range.slot.index] as Plan["arguments"][number];
    const alignment = this.#sizes.offsetAlignment;
    const wanted = view.offset + range.offsetBytes;
    let offset = Math.floor(wanted / alignment) * alignment;
    if (range.firstItemField !== undefined) {
      // The items in front of the wanted one must be whole: 256 is no multiple of a 12-byte struct.
      while ((wanted - offset) % slot.strideBytes !== 0) offset -= alignment;
      params[range.firstItemField] = (wanted - offset) / slot.strideBytes;
    } else if (offset !== wanted) {
      throw new UpsweepError(
        "invalid_request",
        `Offset ${view.offset} of argument ${slot.name} must be a multiple of ${alignment}.`,
      );
    }
    // Bindings are whole words: three f16 items take 8 bytes of the buffer, the last two of which are not touched.
    const size = Math.ceil((range.sizeBytes + wanted - offset) / 4) * 4;
    if (offset + size > view.buffer.size) {
      throw new UpsweepError(
        "invalid_request",
        `The buffer of argument ${slot.name} must reach to a multiple of 4 bytes after its last item.`,
      );
    }
    if (size > this.#sizes.maxBindingBytes) {
      throw new UpsweepError(
        "unsupported",
        `Argument ${slot.name} at offset ${view.offset} needs a binding of ${size} bytes; the device's limit is ` +
          `${this.#sizes.maxBindingBytes}.`,
      );
    }
    return { binding: range.binding, buffer: view.buffer, offset, size };
  }

  #bindGroup(id: number, layout: GPUBindGroupLayout, kernel: Kernel, bound: readonly BoundBuffer[]): CachedGroup {
    let key = `${id}`;
    for (const { binding, buffer, offset, size } of bound) key += `|${binding}:${this.#idOf(buffer)}:${offset}:${size}`;
    let cached = this.#bindGroups.get(key);
    if (cached === undefined) {
      const entries = bound.map(({ binding, buffer, offset, size }) => ({
        binding,
        resource: { buffer, offset, size },
      }));
      const group = this.#device.createBindGroup({ label: `upsweep.${kernel.name}`, layout, entries });
      ++this.#bindGroupCount;
      for (const { buffer } of bound) this.#bytesSince += buffer.size;
      cached = { group, bound, lastRecording: 0 };
      this.#bindGroups.set(key, cached);
    }
    cached.lastRecording = this.#recording;
    return cached;
  }

  #idOf(buffer: GPUBuffer): number {
    let id = this.#bufferIds.get(buffer);
    if (id === undefined) {
      id = this.#nextBufferId++;
      this.#bufferIds.set(buffer, id);
    }
    return id;
  }

  #ensureScratch(plan: Plan): void {
    const usage = USAGE.storage | USAGE.copySrc;
    for (const slot of plan.states) {
      // A larger one starts from zero again, which is a state that kernels accept.
      this.#grow(this.#states, slot.name, slot.sizeBytes, usage, slot.name);
    }
    for (const [group, bytes] of plan.scratchGroupBytes.entries()) {
      const groupUsage = group === GRIDS_GROUP ? usage | USAGE.indirect : usage;
      if (bytes !== 0) this.#grow(this.#scratch, group, bytes, groupUsage, "scratch");
    }
  }

  #grow<Key>(buffers: Map<Key, GPUBuffer>, key: Key, size: number, usage: number, label: string): void {
    const known = buffers.get(key);
    if (known !== undefined && known.size >= size) return;
    const rounded = Math.min(2 ** Math.ceil(Math.log2(size)), this.#sizes.maxBufferBytes);
    buffers.set(key, this.#ownBuffer(Math.max(size, rounded), usage, label));
    // Commands recorded before refer to the old buffer: it is left to the garbage collector.
    if (known !== undefined) this.#owned.delete(known);
    this.releaseBindings();
  }
}

function isSameView(a: View, b: View): boolean {
  return a.buffer === b.buffer && a.offset === b.offset && a.size === b.size;
}

// Which read bindings must become read_write, since the dispatch writes another range of their buffer. One buffer may
// be bound several times in a dispatch if all its bindings read, or all may write and are disjoint.
function findShared(kernel: Kernel, bound: readonly BoundBuffer[], alignment: number): SharedBindings {
  const kindOf = (item: BoundBuffer) => kernel.bindings.find((binding) => binding.index === item.binding)?.kind;
  const meet = (a: BoundBuffer, b: BoundBuffer) =>
    a.buffer === b.buffer && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
  const shared = new Set<BoundBuffer>();
  for (const written of bound) {
    if (kindOf(written) !== "storage_read_write") continue;
    for (const other of bound) {
      if (other === written || other.buffer !== written.buffer) continue;
      if (meet(written, other)) {
        throw new UpsweepError(
          "invalid_request",
          `Ranges of one buffer meet in a ${alignment}-byte block: ${written.offset}+${written.size} and ` +
            `${other.offset}+${other.size}. WebGPU cannot bind them together; move one of them.`,
        );
      }
      if (kindOf(other) === "storage_read") shared.add(other);
    }
  }
  for (const a of shared) {
    for (const b of shared) {
      if (a === b || !meet(a, b)) continue;
      throw new UpsweepError(
        "invalid_request",
        `The plan reads bytes ${a.offset}+${a.size} of a buffer through two bindings while it writes another range ` +
          "of the same buffer; use separate buffers. Where the two are one range, a tuning without vectors reads it " +
          "through one.",
      );
    }
  }
  let bits = 0;
  for (const { binding } of shared) bits |= 1 << binding;
  return bits;
}
