// SPDX-License-Identifier: Apache-2.0
// What to do: the shapes of the C++ library (include/upsweep/*.h), where each field has its contract. Enumerators are
// spelled as there ("run_to_run"); fields are camelCase.
import type { BufferView } from "./views.js";

/** How many items: a number, or `{ max }`: a u32 read on the device, from buffer `itemCount`, when the commands run. */
export type Count = number | { max: number };

export type ScalarName = "u32" | "i32" | "f32" | "f16" | "u64" | "i64";
export type VectorName = `vec${2 | 4}${"u" | "i" | "f"}` | `vec${2 | 4}<${"u32" | "i32" | "f32"}>`;

/** A struct declared by `wgsl`; sizes are those of WGSL's storage layout, multiples of 4. */
export interface StructType {
  name: string;
  wgsl: string;
  sizeBytes: number;
  strideBytes: number;
}
/** One item of a buffer. u64 and i64 are `vec2u` in WGSL, the low word first. */
export type ElementType = ScalarName | VectorName | StructType;

/** Any associative operator: `function` names a WGSL function `fn name(a: T, b: T) -> T` that `wgsl` declares. */
export interface CustomOperator {
  function: string;
  wgsl: string;
  /** A WGSL expression e of type T with op(e, x) = op(x, e) = x. */
  identity: string;
  /** Faster plans if it does. Default false. */
  commutative?: boolean;
}
export type BinaryOperator =
  | "sum"
  | "product"
  | "min"
  | "max"
  | "and"
  | "or"
  | "xor"
  | "argmin"
  | "argmax"
  | "any"
  | "all"
  | CustomOperator;

/** A WGSL expression of x (the item) and, where documented, y and i; `wgsl` declares what it uses. */
export type Transform = string | { expression: string; wgsl?: string };
/** Of a (the earlier item) and b (the one after it). Without one: equal values, NaN equal to NaN. */
export type Equality = string | { expression: string; wgsl?: string };
/** How flags lie in a buffer: one u32 an item, four items a word, or 32 items a word. */
export type FlagFormat = "words" | "bytes" | "bits";
/** A WGSL expression of x and i that gives a bool, or flags in buffer `flags`. */
export type Predicate = string | { expression: string; wgsl?: string } | { flags: FlagFormat };
/** A natural order, or a strict weak one by a WGSL function `fn name(a: T, b: T) -> bool`. */
export type KeyOrder =
  | "ascending"
  | "descending"
  | { function: string; wgsl: string }
  | { reverse?: boolean; isF64?: boolean };

/** One value: a number (bigint for u64 and i64), or its bytes as the device stores them. */
export type Constant = number | bigint | ArrayBufferView;

export interface ReduceShape {
  itemCount?: Count;
  /** Default "f32". */
  input?: ElementType;
  secondInput?: ElementType;
  /** Of x, y (the item of the second input) and i. */
  transform?: Transform;
  value?: ElementType;
  combine?: BinaryOperator;
  output?: ElementType;
  segments?: { kind: "whole" | "rows" | "offsets"; count?: Count; rowLength?: number };
  init?: Constant;
}
export interface ReduceBuffers {
  input?: BufferView;
  output: BufferView;
  secondInput?: BufferView;
  itemCount?: BufferView;
  segmentBegins?: BufferView;
  segmentEnds?: BufferView;
}
export interface ReduceTuning {
  workgroupSize: number;
  unitsPerThread: number;
  useVectors: boolean;
  useSubgroups: boolean;
  singlePass: boolean;
  maxWorkgroups: number;
  longestChain: number;
  oneWorkgroupItems: number;
}

export interface ScanSegments {
  kind: "whole" | "rows" | "flags" | "keys";
  rowCount?: Count;
  rowLength?: number;
  format?: FlagFormat;
  key?: ElementType;
  equality?: Equality;
}
export interface ScanShape {
  itemCount?: Count;
  /** Default "f32". */
  input?: ElementType;
  transform?: Transform;
  value?: ElementType;
  combine?: BinaryOperator;
  /** Default "inclusive". */
  kind?: "inclusive" | "exclusive";
  init?: Constant;
  result?: ElementType;
  store?: Transform;
  output?: ElementType;
  reverse?: boolean;
  segments?: ScanSegments;
  writeTotal?: boolean;
  inPlace?: boolean;
  determinism?: "any" | "run_to_run";
}
export interface ScanBuffers {
  input?: BufferView;
  output: BufferView;
  total?: BufferView;
  heads?: BufferView;
  keys?: BufferView;
  itemCount?: BufferView;
}
export interface ScanTuning {
  path: "automatic" | "two_pass" | "single_pass";
  workgroupSize: number;
  rows: number;
  useVectors: boolean;
  useSubgroups: boolean;
  maxWorkgroups: number;
  oneWorkgroupItems: number;
  inOrder: boolean;
  pollRounds: number;
}

export interface SelectShape {
  itemCount: Count;
  /** Default "f32". */
  input?: ElementType;
  predicate: Predicate;
  writeItems?: boolean;
  writeIndices?: boolean;
  dispatchThreads?: number;
}
export interface SelectBuffers {
  input: BufferView;
  output?: BufferView;
  count: BufferView;
  indices?: BufferView;
  flags?: BufferView;
  itemCount?: BufferView;
  dispatchArguments?: BufferView;
}

export interface PartitionShape {
  itemCount: Count;
  /** Default "f32". */
  input?: ElementType;
  first: Predicate;
  second?: Predicate;
}
export interface PartitionBuffers {
  input: BufferView;
  output: BufferView;
  count: BufferView;
  flags?: BufferView;
  itemCount?: BufferView;
}

export interface UniqueShape {
  itemCount: Count;
  /** Default "f32". */
  input?: ElementType;
  equality?: Equality;
  writeIndices?: boolean;
}
export interface UniqueBuffers {
  input: BufferView;
  output: BufferView;
  count: BufferView;
  indices?: BufferView;
  itemCount?: BufferView;
}

export interface RunLengthShape {
  itemCount: Count;
  /** Default "u32". */
  input?: ElementType;
  equality?: Equality;
  writeValues?: boolean;
  writeLengths?: boolean;
  writeOffsets?: boolean;
  onlyRepeated?: boolean;
}
export interface RunLengthBuffers {
  input: BufferView;
  values?: BufferView;
  lengths?: BufferView;
  offsets?: BufferView;
  count: BufferView;
  itemCount?: BufferView;
}

export interface ReduceByKeyShape {
  itemCount: Count;
  /** Default "u32". */
  key?: ElementType;
  equality?: Equality;
  /** Of the values. Default "f32". */
  input?: ElementType;
  combine?: BinaryOperator;
  output?: ElementType;
  determinism?: "any" | "run_to_run";
}
export interface ReduceByKeyBuffers {
  keys: BufferView;
  input: BufferView;
  uniqueKeys: BufferView;
  output: BufferView;
  count: BufferView;
  itemCount?: BufferView;
}

export interface AdjacentDifferenceShape {
  itemCount: Count;
  /** Default "f32". */
  input?: ElementType;
  /** Of x and before. Default: x - before. */
  expression?: string;
  wgsl?: string;
}
export interface AdjacentDifferenceBuffers {
  input: BufferView;
  output: BufferView;
  itemCount?: BufferView;
}

export type SampleType = "u8" | "u16" | "u32" | "i32" | "f16" | "f32";
export type HistogramBins =
  | { kind?: "even"; count: number; lower: number; upper: number }
  | { kind: "edges"; count?: number; edges: readonly number[] | Float64Array }
  | { kind: "edges_on_device"; count: number }
  | { kind: "integers"; count: number; first?: number; shift?: number };
export interface HistogramShape {
  itemCount: Count;
  /** Default "f32". */
  sample?: SampleType;
  bins: HistogramBins;
  channels?: number;
  channelMask?: number;
  weights?: "none" | "words" | "floats";
  fractionBits?: number;
  accumulate?: boolean;
}
export interface HistogramBuffers {
  input: BufferView;
  output: BufferView;
  weights?: BufferView;
  edges?: BufferView;
  itemCount?: BufferView;
}
export interface HistogramTuning {
  path: "automatic" | "registers" | "workgroup" | "cache";
  workgroupSize: number;
  unitsPerThread: number;
  useVectors: boolean;
  registerBins: number;
  copies: number;
  windowBins: number;
  maxWindows: number;
  cacheSlots: number;
  maxWorkgroups: number;
  oneWorkgroupSamples: number;
}

export interface KeyField {
  offsetBytes: number;
  type?: ElementType;
  isF64?: boolean;
  descending?: boolean;
}
export interface SortShape {
  itemCount: Count;
  /** Default "u32". */
  key?: ElementType;
  keyFields?: readonly KeyField[];
  keyIsF64?: boolean;
  descending?: boolean;
  beginBit?: number;
  endBit?: number;
  value?: ElementType;
  writeKeys?: boolean;
  writeIndices?: boolean;
  inPlace?: boolean;
  segmentCount?: Count;
  longestSegment?: number;
}
export interface SortBuffers {
  keys?: BufferView;
  values?: BufferView;
  sortedKeys?: BufferView;
  sortedValues?: BufferView;
  indices?: BufferView;
  itemCount?: BufferView;
  segmentBegins?: BufferView;
  segmentEnds?: BufferView;
  segmentCount?: BufferView;
}
export interface SortTuning {
  path: "automatic" | "three_pass" | "single_pass";
  workgroupSize: number;
  itemsPerThread: number;
  digitBits: number;
  stageRounds: number;
  useSubgroups: boolean;
  lockStep: boolean;
  lookBackLate: boolean;
  inOrder: boolean;
  pollRounds: number;
  lookRecords: number;
  maxWorkgroups: number;
  oneWorkgroupItems: number;
}

export interface TopKShape {
  itemCount: Count;
  k: Count;
  /** Default "u32". */
  key?: ElementType;
  keyIsF64?: boolean;
  largest?: boolean;
  order?: "sorted" | "input_order";
  value?: ElementType;
  writeKeys?: boolean;
  writeIndices?: boolean;
  writeCount?: boolean;
  writeThreshold?: boolean;
}
export interface TopKBuffers {
  keys: BufferView;
  values?: BufferView;
  topKeys?: BufferView;
  topValues?: BufferView;
  indices?: BufferView;
  count?: BufferView;
  threshold?: BufferView;
  itemCount?: BufferView;
  k?: BufferView;
}
export interface TopKTuning {
  workgroupSize: number;
  itemsPerThread: number;
  digitBits: number;
  maxWorkgroups: number;
  candidateItems: number;
  candidateShare: number;
  sortAllItems: number;
  compaction: Partial<ScanTuning>;
  sort: Partial<SortTuning>;
}

export interface SearchShape {
  itemCount: Count;
  queryCount: Count;
  /** Default "u32". */
  item?: ElementType;
  order?: KeyOrder;
  bound?: "lower" | "upper";
}
export interface SearchBuffers {
  items?: BufferView;
  queries: BufferView;
  positions: BufferView;
  itemCount?: BufferView;
  queryCount?: BufferView;
}
export interface SearchTuning {
  workgroupSize: number;
  queriesPerThread: number;
  sampleBytes: number;
}

export interface MergeShape {
  leftCount: Count;
  rightCount: Count;
  /** Default "u32". */
  key?: ElementType;
  order?: KeyOrder;
  value?: ElementType;
}
export interface MergeBuffers {
  leftKeys?: BufferView;
  rightKeys?: BufferView;
  mergedKeys: BufferView;
  leftValues?: BufferView;
  rightValues?: BufferView;
  mergedValues?: BufferView;
  leftCount?: BufferView;
  rightCount?: BufferView;
}
export interface MergeTuning {
  workgroupSize: number;
  itemsPerThread: number;
  splitPassItems: number;
}

export interface MergeSortShape {
  itemCount: Count;
  /** Default "u32". */
  key?: ElementType;
  order?: KeyOrder;
  value?: ElementType;
  writeKeys?: boolean;
  writeIndices?: boolean;
}
export interface MergeSortBuffers {
  keys: BufferView;
  values?: BufferView;
  sortedKeys?: BufferView;
  sortedValues?: BufferView;
  indices?: BufferView;
  itemCount?: BufferView;
}
export interface MergeSortTuning {
  sortWorkgroupSize: number;
  sortItemsPerThread: number;
  mergeWorkgroupSize: number;
  mergeItemsPerThread: number;
  splitPassItems: number;
}

export interface IsSortedShape {
  itemCount: Count;
  /** Default "u32". */
  input?: ElementType;
  order?: KeyOrder;
  writeResult?: boolean;
  writeLeadingCount?: boolean;
}
export interface IsSortedBuffers {
  input: BufferView;
  result?: BufferView;
  leadingCount?: BufferView;
  itemCount?: BufferView;
}

export interface SparseShape {
  /** Default "csr". */
  format?: "csr" | "coo" | "ell" | "sliced_ell" | "block_ell" | "hybrid";
  values?: "f32" | "f16" | "ones";
  rowCount: number;
  columnCount: number;
  entryCount?: number;
  longestRow?: number;
  width?: number;
  rowStride?: number;
  sliceRows?: number;
  isReordered?: boolean;
  blockSize?: number;
  restRowCount?: number;
  restEntryCount?: number;
}
export interface SpmvShape {
  matrix: SparseShape;
  alpha?: number;
  beta?: number;
  scalarsOnDevice?: boolean;
  /** csr: buffer `tiles` holds what `spmvTiles` made for the same shape and tuning. */
  hasTiles?: boolean;
  vectorCount?: number;
}
export interface SpmvBuffers {
  rowOffsets?: BufferView;
  rows?: BufferView;
  sliceOffsets?: BufferView;
  rowOrder?: BufferView;
  columns?: BufferView;
  values?: BufferView;
  restRows?: BufferView;
  restOffsets?: BufferView;
  restColumns?: BufferView;
  restValues?: BufferView;
  x: BufferView;
  y: BufferView;
  scalars?: BufferView;
  tiles?: BufferView;
}
export interface SpmvTilesBuffers {
  rowOffsets: BufferView;
  tiles: BufferView;
}
export interface SpmvTuning {
  path: "automatic" | "rows" | "merge";
  workgroupSize: number;
  lanesPerRow: number;
  loadsAhead: number;
  itemsPerThread: number;
  useSubgroups: boolean;
}
