// SPDX-License-Identifier: Apache-2.0
// The caller's buffers: ranges, and what is checked of them.
import { UpsweepError } from "./errors.js";
import type { ArgumentSlot, Plan } from "./plan.js";

/** A range of a buffer of usage STORAGE. `size`: to the end of the buffer if not given. */
export interface BufferRange {
  buffer: GPUBuffer;
  /** In bytes, a multiple of the item's stride. */
  offset?: number | undefined;
  size?: number | undefined;
}
export type BufferView = GPUBuffer | BufferRange;

/** Views by the names of a plan's arguments. */
export type Arguments = Readonly<Record<string, BufferView | undefined>>;

/** A range with nothing left open. */
export interface View {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly size: number;
}

const STORAGE = 0x80; // GPUBufferUsage.STORAGE: not every host has the globals

/** What the device would say later and elsewhere, if at all. */
export function checkView(name: string, view: BufferView | undefined): void {
  if (view === undefined || view === null) return;
  const isRange = typeof view === "object" && "buffer" in view;
  const { buffer, offset, size } = isRange ? view : { buffer: view, offset: 0, size: 0 };
  if (typeof buffer !== "object" || buffer === null || !("mapAsync" in buffer)) {
    throw new UpsweepError(
      "invalid_request",
      `Argument ${name} is neither a GPUBuffer nor { buffer, offset, size } with one.`,
    );
  }
  for (const [what, bytes] of Object.entries({ offset: offset ?? 0, size: size ?? 0 })) {
    if (Number.isSafeInteger(bytes) && bytes >= 0) continue;
    throw new UpsweepError("invalid_request", `The ${what} of argument ${name} is no whole number of bytes: ${bytes}.`);
  }
  if ((buffer.usage & STORAGE) === 0) {
    throw new UpsweepError("invalid_request", `The buffer of argument ${name} lacks the usage STORAGE.`);
  }
}

export function rangeOf(view: BufferView | undefined): BufferRange | undefined {
  if (view === undefined || view === null) return undefined;
  return "buffer" in view ? view : { buffer: view };
}

export function offsetOf(view: BufferView | undefined): number {
  return rangeOf(view)?.offset ?? 0;
}

/** The same place of the same buffer: what makes a primitive work in place. */
export function isSamePlace(a: BufferView | undefined, b: BufferView | undefined): boolean {
  const first = rangeOf(a);
  const second = rangeOf(b);
  return first !== undefined && first.buffer === second?.buffer && (first.offset ?? 0) === (second.offset ?? 0);
}

/** Views of all arguments of the plan, cut to what it uses. */
export function resolveViews(plan: Plan, views: Arguments): View[] {
  const resolved = plan.arguments.map((slot) => {
    checkView(slot.name, views[slot.name]);
    return resolve(slot, rangeOf(views[slot.name]));
  });
  checkOverlaps(plan, resolved);
  return resolved;
}

function resolve(slot: ArgumentSlot, given: BufferRange | undefined): View {
  if (given?.buffer === undefined) throw new UpsweepError("invalid_request", `Argument ${slot.name} has no buffer.`);
  const offset = given.offset ?? 0;
  const bufferBytes = given.buffer.size;
  const rest = bufferBytes - Math.min(bufferBytes, offset);
  if (given.size !== undefined && given.size > rest) {
    throw new UpsweepError(
      "invalid_request",
      `View ${offset}+${given.size} of argument ${slot.name} reaches past the end of its buffer (${bufferBytes} bytes).`,
    );
  }
  const available = Math.min(given.size ?? rest, rest);
  if (available < slot.sizeBytes) {
    throw new UpsweepError(
      "invalid_request",
      `Argument ${slot.name} has ${available} bytes; the plan needs ${slot.sizeBytes}.`,
    );
  }
  if (offset % slot.strideBytes !== 0) {
    throw new UpsweepError(
      "invalid_request",
      `Offset ${offset} of argument ${slot.name} is not a multiple of its item (${slot.strideBytes} bytes).`,
    );
  }
  return { buffer: given.buffer, offset, size: slot.sizeBytes };
}

function checkOverlaps(plan: Plan, views: readonly View[]): void {
  for (const [i, a] of views.entries()) {
    for (const [j, b] of views.slice(0, i).entries()) {
      const [first, second] = [plan.arguments[i] as ArgumentSlot, plan.arguments[j] as ArgumentSlot];
      if (!first.isWritten && !second.isWritten) continue;
      if (a.buffer !== b.buffer || a.offset >= b.offset + b.size || b.offset >= a.offset + a.size) continue;
      throw new UpsweepError(
        "invalid_request",
        `Arguments ${second.name} (bytes ${b.offset} to ${b.offset + b.size}) and ${first.name} (bytes ${a.offset} to ` +
          `${a.offset + a.size}) overlap in one buffer.`,
      );
    }
  }
}
