// SPDX-License-Identifier: Apache-2.0
// Element types and JavaScript's arrays of numbers.
import { UpsweepError } from "./errors.js";
import type { Constant, ElementType } from "./shapes.js";

/** Arrays whose type says what their items are. Float64Array: keys of sorts only. */
export type NumberArray = Uint32Array | Int32Array | Float32Array | Float64Array | BigUint64Array | BigInt64Array;

type ArrayMaker = {
  new (buffer: ArrayBuffer): NumberArray;
};
const MAKERS: Record<string, ArrayMaker> = {
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
};

/** "f32" for a Float32Array, and so on. */
export function elementOf(array: ArrayBufferView): ElementType {
  checkArray(array);
  if (array instanceof Uint32Array) return "u32";
  if (array instanceof Int32Array) return "i32";
  if (array instanceof Float32Array) return "f32";
  if (array instanceof BigUint64Array || array instanceof Float64Array) return "u64";
  if (array instanceof BigInt64Array) return "i64";
  throw new UpsweepError(
    "invalid_request",
    `Items of a ${array.constructor.name} are none of u32, i32, f32, u64, i64 and f64: say what they are.`,
  );
}

/** What is no typed array: a list of numbers does not say how they are stored. */
export function checkArray(array: unknown): void {
  if (ArrayBuffer.isView(array)) return;
  const given = array === undefined || array === null ? String(array) : array.constructor.name;
  throw new UpsweepError("invalid_request", `A typed array is needed, a Float32Array for one, not ${given}.`);
}

/** Bytes from one item to the next. */
export function strideOf(type: ElementType): number {
  if (typeof type === "object") return type.strideBytes;
  if (type === "f16") return 2;
  if (type === "u64" || type === "i64") return 8;
  return type.startsWith("vec") ? 4 * Number(type[3]) : 4;
}

/** Items of a result as an array of their numbers; structs and f16 as their bytes. */
export function arrayOf(bytes: ArrayBuffer, type: ElementType): NumberArray | Uint8Array {
  if (typeof type === "object" || type === "f16") return new Uint8Array(bytes);
  const letter = type.startsWith("vec") ? (type.match(/[uif](?=32>$|$)/)?.[0] ?? "f") : undefined;
  const maker = MAKERS[letter === undefined ? type : `${letter}32`];
  return maker === undefined ? new Uint8Array(bytes) : new maker(bytes);
}

export function valueType(shape: { value?: ElementType; input?: ElementType }): ElementType {
  return shape.value ?? shape.input ?? "f32";
}

/** The bytes of one value as the device stores it. */
export function constantBytes(value: unknown, type: ElementType): Uint8Array {
  const constant = value as Constant;
  if (ArrayBuffer.isView(constant)) {
    return new Uint8Array(constant.buffer, constant.byteOffset, constant.byteLength).slice();
  }
  const view = new DataView(new ArrayBuffer(8));
  const bytes = (size: number) => new Uint8Array(view.buffer, 0, size);
  if (typeof constant === "bigint" || type === "u64" || type === "i64") {
    view.setBigInt64(0, BigInt.asIntN(64, BigInt(constant)), true);
    return bytes(8);
  }
  if (typeof constant === "number") {
    if (type === "u32" || type === "i32") {
      view.setUint32(0, constant, true);
      return bytes(4);
    }
    if (type === "f32") {
      view.setFloat32(0, constant, true);
      return bytes(4);
    }
  }
  throw new UpsweepError("invalid_request", "An init of this type is given by its bytes.");
}
