// SPDX-License-Identifier: Apache-2.0
// Items to try things on: the same every time, made slice by slice.
import { sliced } from "./slices.js";

export type TypeName = "u32" | "i32" | "f32";
export const TYPES: readonly TypeName[] = ["u32", "i32", "f32"];
export type Items = Uint32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

export type Distribution = "uniform" | "sorted" | "reversed" | "constant" | "few" | "runs";
export const DISTRIBUTIONS: readonly Distribution[] = ["uniform", "sorted", "reversed", "constant", "few", "runs"];

const RANGE = 1_000_000;

/** A number below 2^32 for each index. */
export function mixed(index: number, seed: number): number {
  let word = Math.imul(index ^ (index >>> 16), 0x7feb352d) + Math.imul(seed, 0x9e3779b9);
  word = Math.imul(word ^ (word >>> 15), 0x846ca68b);
  return (word ^ (word >>> 16)) >>> 0;
}

// In [0, 1).
function share(distribution: Distribution, index: number, count: number, seed: number): number {
  const random = mixed(index, seed) / 2 ** 32;
  switch (distribution) {
    case "uniform":
      return random;
    case "sorted":
      return (index + random) / count;
    case "reversed":
      return (count - 1 - index + random) / count;
    case "constant":
      return 0.3125;
    case "few":
      return Math.floor(random * 8) / 8;
    case "runs":
      // Runs of eight on average.
      return (
        (mixed(Math.floor(index / 8) + (mixed(Math.floor(index / 8), 7) % 8 < index % 8 ? 1 : 0), seed) % 1000) / 1000
      );
  }
}

export function emptyItems(type: TypeName, count: number): Items {
  if (type === "u32") return new Uint32Array(count);
  return type === "i32" ? new Int32Array(count) : new Float32Array(count);
}

/** u32 below a million, i32 around zero, f32 from 0 to 1. */
export async function makeItems(
  type: TypeName,
  distribution: Distribution,
  count: number,
  seed: number,
  signal: AbortSignal,
): Promise<Items> {
  const items = emptyItems(type, count);
  await sliced(count, signal, (begin, end) => {
    for (let i = begin; i < end; ++i) {
      const part = share(distribution, i, count, seed);
      if (type === "f32") items[i] = Math.min(part, 1 - 2 ** -24);
      else items[i] = Math.floor(part * RANGE) - (type === "i32" ? RANGE / 2 : 0);
    }
  });
  return items;
}
