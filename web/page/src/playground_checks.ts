// SPDX-License-Identifier: Apache-2.0
// Plain JavaScript that computes the same, slice by slice.
import { type Items, mixed, type TypeName } from "./playground_data.js";
import type { Preset } from "./playground_operators.js";
import { sliced } from "./slices.js";

export interface Mismatch {
  readonly output: string;
  /** Of items, or "length". */
  readonly index: number | "length";
  readonly found: number;
  readonly wanted: number;
}
export type Verdict = { kind: "right" } | { kind: "close" } | { kind: "none" } | { kind: "wrong"; at: Mismatch };

type Pair = (a: number, b: number) => number | boolean;

const RIGHT: Verdict = { kind: "right" };

/** The first mismatch counts. */
class Comparison {
  readonly #output: string;
  readonly #found: Items;
  readonly #tolerance: number;
  at: Mismatch | undefined;

  /** `tolerance`: in shares of the magnitude that is given with each item. */
  constructor(output: string, found: Items, tolerance = 0) {
    this.#output = output;
    this.#found = found;
    this.#tolerance = tolerance;
  }
  compare(index: number, wanted: number, magnitude = 0): void {
    const found = this.#found[index] ?? Number.NaN;
    if (found === wanted || Math.abs(found - wanted) <= this.#tolerance * magnitude) return;
    this.at ??= { output: this.#output, index, found, wanted };
  }
  finish(count: number): Verdict {
    if (this.#found.length !== count) {
      this.at ??= { output: this.#output, index: "length", found: this.#found.length, wanted: count };
    }
    if (this.at !== undefined) return { kind: "wrong", at: this.at };
    return this.#tolerance === 0 ? RIGHT : { kind: "close" };
  }
}

export function both(first: Verdict, second: Verdict): Verdict {
  if (first.kind === "wrong" || first.kind === "none") return first;
  return second.kind === "right" ? first : second;
}

function wrapped(value: number, type: TypeName): number {
  if (type === "u32") return value >>> 0;
  return type === "i32" ? value | 0 : value;
}

// Sums of f32 are made in double; the device rounds each addition, in an order of its own.
const SUM_TOLERANCE = 1e-5;
function toleranceOf(preset: Preset, type: TypeName): number {
  return type === "f32" && preset.name === "sum" ? SUM_TOLERANCE : 0;
}

interface Fold {
  readonly from: number;
  next(state: number, item: number): number;
}
function foldOf(preset: Preset, type: TypeName): Fold | undefined {
  const { fold } = preset;
  if (fold === undefined) return undefined;
  return { from: fold.from(type), next: (state, item) => wrapped(fold.twin(state, item), type) };
}

export async function checkReduce(items: Items, found: Items, preset: Preset, type: TypeName, signal: AbortSignal) {
  const comparison = new Comparison("output", found, toleranceOf(preset, type));
  if (preset.name === "argmax") {
    let best = 0;
    await sliced(items.length, signal, (begin, end) => {
      for (let i = begin; i < end; ++i) if ((items[i] as number) > (items[best] as number)) best = i;
    });
    comparison.compare(0, best);
    return comparison.finish(1);
  }
  const fold = foldOf(preset, type);
  if (fold === undefined) return { kind: "none" } as const;
  let state = fold.from;
  let magnitude = 0;
  await sliced(items.length, signal, (begin, end) => {
    for (let i = begin; i < end; ++i) {
      state = fold.next(state, items[i] as number);
      magnitude += Math.abs(items[i] as number);
    }
  });
  comparison.compare(0, state, magnitude);
  return comparison.finish(1);
}

export async function checkScan(
  items: Items,
  found: Items,
  preset: Preset,
  type: TypeName,
  isExclusive: boolean,
  signal: AbortSignal,
): Promise<Verdict> {
  const fold = foldOf(preset, type);
  if (fold === undefined) return { kind: "none" };
  const comparison = new Comparison("output", found, toleranceOf(preset, type));
  let state = fold.from;
  let magnitude = 0;
  await sliced(items.length, signal, (begin, end) => {
    for (let i = begin; i < end; ++i) {
      if (isExclusive) comparison.compare(i, state, magnitude);
      state = fold.next(state, items[i] as number);
      magnitude += Math.abs(items[i] as number);
      if (!isExclusive) comparison.compare(i, state, magnitude);
    }
  });
  return comparison.finish(items.length);
}

/** `found`: those that pass; for partitions the others follow. */
export async function checkSelect(
  items: Items,
  found: Items,
  passed: number,
  test: (x: number, i: number) => boolean,
  isPartition: boolean,
  signal: AbortSignal,
): Promise<Verdict> {
  const comparison = new Comparison("output", found);
  let yes = 0;
  let no = passed;
  await sliced(items.length, signal, (begin, end) => {
    for (let i = begin; i < end; ++i) {
      const item = items[i] as number;
      if (test(item, i)) comparison.compare(yes++, item);
      else if (isPartition) comparison.compare(no++, item);
    }
  });
  if (yes !== passed) comparison.at ??= { output: "count", index: 0, found: passed, wanted: yes };
  return comparison.finish(isPartition ? items.length : yes);
}

/** Runs of neighbours that are equal: their first items, and how long they are. */
export async function checkRuns(
  items: Items,
  found: { readonly name: string; readonly values: Items; readonly lengths?: Items },
  isSame: Pair,
  signal: AbortSignal,
): Promise<Verdict> {
  const values = new Comparison(found.name, found.values);
  const lengths = new Comparison("lengths", found.lengths ?? new Uint32Array(0));
  let run = -1;
  let first = 0;
  const close = (end: number) => {
    if (run >= 0 && found.lengths !== undefined) lengths.compare(run, end - first);
  };
  await sliced(items.length, signal, (begin, end) => {
    for (let i = begin; i < end; ++i) {
      if (i > 0 && isSame(items[i - 1] as number, items[i] as number)) continue;
      close(i);
      first = i;
      values.compare(++run, items[i] as number);
    }
  });
  close(items.length);
  const verdict = values.finish(run + 1);
  return found.lengths === undefined ? verdict : both(verdict, lengths.finish(run + 1));
}

export async function checkReduceByKey(
  keys: Items,
  items: Items,
  found: Items,
  preset: Preset,
  type: TypeName,
  signal: AbortSignal,
): Promise<Verdict> {
  const fold = foldOf(preset, type);
  if (fold === undefined) return { kind: "none" };
  const comparison = new Comparison("output", found, toleranceOf(preset, type));
  let run = 0;
  let state = fold.from;
  let magnitude = 0;
  await sliced(items.length, signal, (begin, end) => {
    for (let i = begin; i < end; ++i) {
      if (i > 0 && keys[i] !== keys[i - 1]) {
        comparison.compare(run++, state, magnitude);
        state = fold.from;
        magnitude = 0;
      }
      state = fold.next(state, items[i] as number);
      magnitude += Math.abs(items[i] as number);
    }
  });
  comparison.compare(run, state, magnitude);
  return comparison.finish(run + 1);
}

export async function checkDifference(
  items: Items,
  found: Items,
  difference: Pair,
  type: TypeName,
  signal: AbortSignal,
): Promise<Verdict> {
  const comparison = new Comparison("output", found);
  await sliced(items.length, signal, (begin, end) => {
    for (let i = begin; i < end; ++i) {
      const item = items[i] as number;
      const wanted = i === 0 ? item : Number(difference(item, items[i - 1] as number));
      comparison.compare(i, type === "f32" ? Math.fround(wanted) : wrapped(wanted, type));
    }
  });
  return comparison.finish(items.length);
}

/** Samples from `lower` to `upper` in bins of one width, a power of two of them. */
export async function checkHistogram(
  items: Items,
  found: Items,
  bins: { readonly count: number; readonly lower: number; readonly upper: number },
  signal: AbortSignal,
): Promise<Verdict> {
  const counts = new Uint32Array(bins.count);
  await sliced(items.length, signal, (begin, end) => {
    for (let i = begin; i < end; ++i) {
      const bin = Math.floor((((items[i] as number) - bins.lower) * bins.count) / (bins.upper - bins.lower));
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
  });
  const comparison = new Comparison("output", found);
  for (const [bin, count] of counts.entries()) comparison.compare(bin, count);
  return comparison.finish(bins.count);
}

/** In order, and the same items as before: by two sums of their hashes. */
export async function checkOrder(
  inputs: readonly Items[],
  found: Items,
  name: string,
  comesBefore: Pair,
  signal: AbortSignal,
): Promise<Verdict> {
  const count = inputs.reduce((sum, items) => sum + items.length, 0);
  const comparison = new Comparison(name, found);
  const before = [0, 0] as [number, number];
  const after = [0, 0] as [number, number];
  const add = (sums: [number, number], items: Items, begin: number, end: number) => {
    const words = new Uint32Array(items.buffer, items.byteOffset, items.length);
    for (let i = begin; i < end; ++i) {
      sums[0] = (sums[0] + mixed(words[i] as number, 1)) % 2 ** 48;
      sums[1] = (sums[1] + mixed(words[i] as number, 2)) % 2 ** 48;
    }
  };
  for (const items of inputs) await sliced(items.length, signal, (begin, end) => add(before, items, begin, end));
  await sliced(found.length, signal, (begin, end) => {
    add(after, found, begin, end);
    for (let i = Math.max(begin, 1); i < end; ++i) {
      const [left, right] = [found[i - 1] as number, found[i] as number];
      if (comesBefore(right, left)) comparison.at ??= { output: name, index: i, found: right, wanted: left };
    }
  });
  if (found.length === count && (before[0] !== after[0] || before[1] !== after[1])) {
    comparison.at ??= { output: name, index: 0, found: after[0], wanted: before[0] };
  }
  return comparison.finish(count);
}

export async function checkTopK(
  keys: Items,
  found: Items,
  indices: Items,
  k: number,
  largest: boolean,
  signal: AbortSignal,
): Promise<Verdict> {
  const isBetter = (a: number, b: number) => (largest ? a > b : a < b);
  const wanted = Math.min(k, keys.length);
  const comparison = new Comparison("topKeys", found);
  for (const [i, index] of indices.entries()) comparison.compare(i, keys[index] ?? Number.NaN);
  for (let i = 1; i < found.length; ++i) {
    const [left, right] = [found[i - 1] as number, found[i] as number];
    if (isBetter(right, left)) comparison.at ??= { output: "topKeys", index: i, found: right, wanted: left };
  }
  if (new Set(indices).size !== wanted) {
    comparison.at ??= { output: "indices", index: "length", found: new Set(indices).size, wanted };
  }
  const last = found.at(-1) ?? Number.NaN;
  let better = 0;
  await sliced(keys.length, signal, (begin, end) => {
    for (let i = begin; i < end; ++i) if (isBetter(keys[i] as number, last)) ++better;
  });
  const taken = [...found].filter((key) => isBetter(key, last)).length;
  if (better !== taken) comparison.at ??= { output: "topKeys", index: "length", found: taken, wanted: better };
  return comparison.finish(wanted);
}

export async function checkIsSorted(items: Items, found: Items, comesBefore: Pair, signal: AbortSignal) {
  let isSorted = true;
  await sliced(items.length, signal, (begin, end) => {
    for (let i = Math.max(begin, 1); i < end; ++i) {
      if (comesBefore(items[i] as number, items[i - 1] as number)) isSorted = false;
    }
  });
  const comparison = new Comparison("result", found);
  comparison.compare(0, Number(isSorted));
  return comparison.finish(1);
}

/** Lower bounds: the first item that is not less. */
export async function checkSearch(items: Items, queries: Items, positions: Items, signal: AbortSignal) {
  const comparison = new Comparison("positions", positions);
  await sliced(queries.length, signal, (begin, end) => {
    for (let i = begin; i < end; ++i) {
      const query = queries[i] as number;
      let [low, high] = [0, items.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((items[middle] as number) < query) low = middle + 1;
        else high = middle;
      }
      comparison.compare(i, low);
    }
  });
  return comparison.finish(queries.length);
}

/** A view of the first items. */
export function firstOf(items: Items, count: number): Items {
  return items.subarray(0, count) as Items;
}
