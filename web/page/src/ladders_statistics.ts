// SPDX-License-Identifier: Apache-2.0
// The arithmetic of timing, as benchmarking/statistics.cpp has it.

export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** Of at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const at = (i: number): number => sorted[i] ?? 0;
  const median = sorted.length % 2 === 1 ? at(half) : 0.5 * (at(half - 1) + at(half));
  return { median, min: at(0), max: at(sorted.length - 1) };
}

/**
 * How often to repeat work for a total of `target`, after `repeats` of it took `total`; at most `most`. Growth by at
 * most 16 keeps one odd reading, or one of 0, from setting the count. Returns `repeats` when that is enough.
 */
export function nextRepeats(repeats: number, total: number, target: number, most: number): number {
  if (total >= target || repeats >= most) return repeats;
  const wanted = total > 0 ? (repeats * 1.1 * target) / total : 16 * repeats;
  return Math.min(Math.max(Math.ceil(Math.min(wanted, 16 * repeats)), repeats + 1), most);
}
