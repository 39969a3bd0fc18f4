// SPDX-License-Identifier: Apache-2.0
// Runs a trial of the playground once for its result, then for the time that it takes.
import { UpsweepError, watched } from "../../src/errors.js";
import { USAGE } from "../../src/executor.js";
import type { Plan } from "../../src/index.js";
import type { Spread } from "./ladders_statistics.js";
import { Stopwatch } from "./ladders_stopwatch.js";
import { emptyItems, type Items } from "./playground_data.js";
import type { Outputs, Trial } from "./playground_trials.js";
import type { Session } from "./session.js";

const MAP_READ = 1; // GPUMapMode.READ, which TypeScript does not declare

export interface Timing {
  /** Of one run. */
  readonly ms: Spread;
  /** Else by the browser's. */
  readonly isDeviceClock: boolean;
}

/** A plan with buffers of its own. */
export class BoundPlan {
  readonly #session: Session;
  readonly #plan: Plan;
  readonly #buffers: Record<string, GPUBuffer> = {};
  readonly #refusal: Promise<string | undefined>;

  constructor(session: Session, plan: Plan, inputs: Readonly<Record<string, Items>>) {
    this.#session = session;
    this.#plan = plan;
    const { device } = session;
    const usage = USAGE.storage | USAGE.copySrc | USAGE.copyDst;
    try {
      this.#refusal = watched(device, () => {
        for (const slot of plan.arguments) {
          const buffer = device.createBuffer({
            label: slot.name,
            size: Math.ceil(Math.max(slot.sizeBytes, 4) / 4) * 4,
            usage,
          });
          this.#buffers[slot.name] = buffer;
          const input = inputs[slot.name];
          if (input !== undefined) device.queue.writeBuffer(buffer, 0, input);
        }
      }).refusal;
    } catch (error) {
      this.free();
      throw error;
    }
  }

  async run(trial: Trial): Promise<Outputs> {
    const { device, up } = this.#session;
    const copies: GPUBuffer[] = [];
    try {
      const { refusal } = watched(device, () => {
        const encoder = device.createCommandEncoder();
        up.record(encoder, this.#plan, this.#buffers);
        for (const { name } of trial.outputs) {
          const from = this.#buffers[name] as GPUBuffer;
          const to = device.createBuffer({ size: from.size, usage: USAGE.mapRead | USAGE.copyDst });
          copies.push(to);
          encoder.copyBufferToBuffer(from, 0, to, 0, from.size);
        }
        device.queue.submit([encoder.finish()]);
      });
      const refused = (await this.#refusal) ?? (await refusal);
      if (refused !== undefined) throw new UpsweepError("device", `The run was refused: ${refused}`);
      const found: Record<string, Items> = {};
      for (const [i, { name, type }] of trial.outputs.entries()) {
        const copy = copies[i] as GPUBuffer;
        await copy.mapAsync(MAP_READ);
        const slot = this.#plan.arguments.find((argument) => argument.name === name);
        const items = emptyItems(type, Math.floor((slot?.sizeBytes ?? 0) / 4));
        new Uint8Array(items.buffer).set(new Uint8Array(copy.getMappedRange(0, items.byteLength)));
        found[name] = items;
      }
      const counted = found["count"]?.[0] ?? 0;
      for (const { name, isCounted } of trial.outputs) {
        if (isCounted === true) found[name] = (found[name] as Items).subarray(0, counted) as Items;
      }
      return found;
    } finally {
      for (const copy of copies) copy.destroy();
    }
  }

  async measure(signal: AbortSignal): Promise<Timing> {
    const { device, up } = this.#session;
    const stopwatch = new Stopwatch(device, up.traits.isCpu);
    const record = (pass: GPUComputePassEncoder) => up.record(pass, this.#plan, this.#buffers);
    try {
      const ms = await stopwatch.time({ record, dispatches: this.#plan.dispatches.length }, signal);
      return { ms, isDeviceClock: stopwatch.usesTimestamps };
    } finally {
      stopwatch.dispose();
    }
  }

  free(): void {
    for (const buffer of Object.values(this.#buffers)) buffer.destroy();
    this.#session.up.releaseBindings();
  }
}
