// SPDX-License-Identifier: Apache-2.0
// Operators to choose from. Those in WGSL have a twin in JavaScript, which serves as long as the text is not changed.
import type { TypeName } from "./playground_data.js";

/** What the text of an editor is for. */
export type TextKind = "operator" | "predicate" | "equality" | "difference" | "order";

export type PresetName =
  | "sum"
  | "product"
  | "min"
  | "max"
  | "xor"
  | "argmax"
  | "furthest"
  | "lastSet"
  | "saturating"
  | "broken"
  | "third"
  | "upperHalf"
  | "bits"
  | "even"
  | "same"
  | "sameGroup"
  | "minus"
  | "changed"
  | "ascending"
  | "descending"
  | "lastDigit"
  | "nearZero";

export interface Preset {
  readonly name: PresetName;
  readonly types: readonly TypeName[];
  /** WGSL to edit; none for what the library has. */
  readonly text?: (type: TypeName) => string;
  /** Operators in WGSL. */
  readonly identity?: (type: TypeName) => string;
  readonly isCommutative?: boolean;
  /** The first value of a fold, and the fold. */
  readonly fold?: { readonly from: (type: TypeName) => number; readonly twin: Fold };
  readonly test?: (x: number, i: number, type: TypeName) => boolean;
  readonly pair?: (a: number, b: number) => number | boolean;
}
type Fold = (a: number, b: number) => number;

const ALL: readonly TypeName[] = ["u32", "i32", "f32"];
const WHOLE: readonly TypeName[] = ["u32", "i32"];
const zero = () => 0;

/** A literal of the type. */
export function literal(value: number, type: TypeName): string {
  if (type === "u32") return `${value}u`;
  return type === "i32" ? `${value}i` : Number.isInteger(value) ? `${value}.0` : String(value);
}

const OPERATORS: readonly Preset[] = [
  { name: "sum", types: ALL, fold: { from: zero, twin: (a, b) => a + b } },
  { name: "product", types: WHOLE, fold: { from: () => 1, twin: (a, b) => Math.imul(a, b) } },
  {
    name: "min",
    types: ALL,
    fold: { from: (type) => (type === "u32" ? 2 ** 32 - 1 : type === "i32" ? 2 ** 31 - 1 : Infinity), twin: Math.min },
  },
  {
    name: "max",
    types: ALL,
    fold: { from: (type) => (type === "u32" ? 0 : type === "i32" ? -(2 ** 31) : -Infinity), twin: Math.max },
  },
  { name: "xor", types: WHOLE, fold: { from: zero, twin: (a, b) => a ^ b } },
  {
    name: "furthest",
    types: ALL,
    text: (type) =>
      `// Of equal distances the earlier one.\nfn furthest(a: ${type}, b: ${type}) -> ${type} {\n  return select(a, b, abs(b) > abs(a));\n}`,
    identity: (type) => literal(0, type),
    fold: { from: zero, twin: (a, b) => (Math.abs(b) > Math.abs(a) ? b : a) },
  },
  {
    name: "lastSet",
    types: ALL,
    text: (type) =>
      `fn last_set(a: ${type}, b: ${type}) -> ${type} {\n  if (b == ${literal(0, type)}) {\n    return a;\n  }\n  return b;\n}`,
    identity: (type) => literal(0, type),
    fold: { from: zero, twin: (a, b) => (b === 0 ? a : b) },
  },
  {
    name: "saturating",
    types: ["u32"],
    text: () =>
      "fn saturating(a: u32, b: u32) -> u32 {\n  let sum = a + b;\n  return select(sum, 0xffffffffu, sum < a);\n}",
    identity: () => "0u",
    isCommutative: true,
    fold: { from: zero, twin: (a, b) => Math.min(a + b, 2 ** 32 - 1) },
  },
  {
    name: "broken",
    types: ALL,
    text: (type) => `fn broken(a: ${type}, b: ${type}) -> ${type} {\n  let both = a + b;\n  return both + c;\n}`,
    identity: (type) => literal(0, type),
  },
];

const ARGMAX: Preset = { name: "argmax", types: ALL };

const BOUNDS: Readonly<Record<TypeName, number>> = { u32: 500_000, i32: 0, f32: 0.5 };
const PREDICATES: readonly Preset[] = [
  {
    name: "upperHalf",
    types: ALL,
    text: (type) => `x > ${literal(BOUNDS[type], type)}`,
    test: (x, _, type) => x > BOUNDS[type],
  },
  {
    name: "third",
    types: WHOLE,
    text: (type) => `x % ${literal(3, type)} == ${literal(0, type)}`,
    test: (x) => x % 3 === 0,
  },
  { name: "bits", types: WHOLE, text: (type) => `countOneBits(x) > ${literal(8, type)}`, test: (x) => bitsOf(x) > 8 },
  { name: "even", types: ALL, text: () => "i % 2u == 0u", test: (_, i) => i % 2 === 0 },
];

const EQUALITIES: readonly Preset[] = [
  { name: "same", types: ALL, text: () => "a == b", pair: (a, b) => a === b },
  {
    name: "sameGroup",
    types: WHOLE,
    text: (type) => `a / ${literal(10, type)} == b / ${literal(10, type)}`,
    pair: (a, b) => Math.trunc(a / 10) === Math.trunc(b / 10),
  },
];

const DIFFERENCES: readonly Preset[] = [
  { name: "minus", types: ALL, text: () => "x - before", pair: (x, before) => x - before },
  { name: "changed", types: WHOLE, text: () => "x ^ before", pair: (x, before) => x ^ before },
];

const ORDERS: readonly Preset[] = [
  { name: "ascending", types: ALL, pair: (a, b) => a < b },
  { name: "descending", types: ALL, pair: (a, b) => a > b },
  {
    name: "lastDigit",
    types: ["u32"],
    text: () =>
      "fn by_digit(a: u32, b: u32) -> bool {\n  if (a % 10u != b % 10u) {\n    return a % 10u < b % 10u;\n  }\n  return a < b;\n}",
    pair: (a, b) => (a % 10 === b % 10 ? a < b : a % 10 < b % 10),
  },
  {
    name: "nearZero",
    types: ["i32", "f32"],
    text: (type) => `fn nearer(a: ${type}, b: ${type}) -> bool {\n  return abs(a) < abs(b);\n}`,
    pair: (a, b) => Math.abs(a) < Math.abs(b),
  },
];

function bitsOf(x: number): number {
  let count = 0;
  for (let rest = x >>> 0; rest !== 0; rest &= rest - 1) ++count;
  return count;
}

export function presetsOf(kind: TextKind, type: TypeName, withArgmax = false): readonly Preset[] {
  const all = {
    operator: OPERATORS,
    predicate: PREDICATES,
    equality: EQUALITIES,
    difference: DIFFERENCES,
    order: ORDERS,
  };
  const presets = withArgmax ? [...all[kind], ARGMAX] : all[kind];
  return presets.filter((preset) => preset.types.includes(type));
}

/** The name of the last function that the text declares: the others are its helpers. */
export function functionOf(text: string): string | undefined {
  const names = [...text.matchAll(/^\s*fn\s+([A-Za-z_]\w*)/gm)];
  return names.at(-1)?.[1];
}
