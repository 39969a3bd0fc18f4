// SPDX-License-Identifier: Apache-2.0
// The primitives for arrays: upload, run, read back. For data that is on the device already there is `record`.
import { arrayOf, checkArray, elementOf, type NumberArray, strideOf, valueType } from "./elements.js";
import { UpsweepError } from "./errors.js";
import type { Plan } from "./plan.js";
import { type Host, Primitive, ROOMS, type Room } from "./primitives.js";
import type * as shapes from "./shapes.js";

type Bytes = ArrayBuffer;

/** Runs a plan on arrays. */
export interface ArrayHost extends Host {
  /** The bytes of the named arguments after the plan has run; none of arguments that the plan has not. */
  runPlan(
    plan: Plan,
    inputs: Record<string, ArrayBufferView | undefined>,
    outputs: readonly string[],
  ): Promise<Bytes[]>;
}

type Type = shapes.ElementType;
/** A shape whose counts the arrays say. */
type Uncounted<Shape> = Omit<Shape, "itemCount">;

const IS_F64 = (array: ArrayBufferView): boolean => array instanceof Float64Array;

function countOf(array: ArrayBufferView, type: Type): number {
  checkArray(array);
  const count = array.byteLength / strideOf(type);
  if (Number.isInteger(count)) return count;
  const name = typeof type === "object" ? type.name : type;
  throw new UpsweepError("invalid_request", `${array.byteLength} bytes are not items of ${name}.`);
}

function refuseDoubles(array: ArrayBufferView, type: Type | undefined): void {
  if (!IS_F64(array) || type !== undefined) return;
  throw new UpsweepError("unsupported", "Items of f64 can be sorted, searched and merged, but not computed with.");
}

/** The type of the items, and how many there are. */
function itemsOf(array: ArrayBufferView, type: Type | undefined): { type: Type; count: number } {
  refuseDoubles(array, type);
  const known = type ?? elementOf(array);
  return { type: known, count: countOf(array, known) };
}

/** The same for keys, which may be doubles. */
function keysOf(array: ArrayBufferView, type: Type | undefined): { type: Type; count: number; isF64: boolean } {
  const known = type ?? elementOf(array);
  return { type: known, count: countOf(array, known), isF64: type === undefined && IS_F64(array) };
}

/** How many keys the other array has; numbers of another type would be misread. */
function countAlike(array: ArrayBufferView, other: ArrayBufferView, type: Type): number {
  checkArray(array);
  if (array.constructor !== other.constructor) {
    throw new UpsweepError(
      "invalid_request",
      `A ${other.constructor.name} and a ${array.constructor.name} do not have items of one type.`,
    );
  }
  return countOf(array, type);
}

function keyArray(bytes: Bytes, type: Type, isF64: boolean): NumberArray | Uint8Array {
  return isF64 ? new Float64Array(bytes) : arrayOf(bytes, type);
}

function orderOf(order: shapes.KeyOrder | undefined, isF64: boolean): shapes.KeyOrder | undefined {
  if (!isF64) return order;
  if (order === undefined || order === "ascending") return { isF64 };
  return order === "descending" ? { isF64, reverse: true } : order;
}

function firstWord(bytes: Bytes): number {
  return new Uint32Array(bytes)[0] ?? 0;
}

class ArrayPrimitive<Shape extends object, Buffers extends object, Tuning extends object> extends Primitive<
  Shape,
  Buffers,
  Tuning
> {
  protected readonly arrays: ArrayHost;

  constructor(host: ArrayHost, room: Room) {
    super(host, room);
    this.arrays = host;
  }

  protected runOn(
    shape: object,
    inputs: Record<string, ArrayBufferView | undefined>,
    outputs: readonly string[],
  ): Promise<Bytes[]> {
    return this.arrays.runPlan(this.answerFor(shape as Record<string, unknown>, {}).plan, inputs, outputs);
  }
}

function resultType(combine: shapes.BinaryOperator | undefined, output: Type | undefined, value: Type): Type {
  const isIndex = combine === "argmin" || combine === "argmax" || combine === "any" || combine === "all";
  return output ?? (isIndex ? "u32" : value);
}

export class Reduce extends ArrayPrimitive<shapes.ReduceShape, shapes.ReduceBuffers, shapes.ReduceTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.reduce);
  }

  /** The fold of all items; a bigint for 64-bit ones. */
  async run(input: NumberArray, shape: Uncounted<shapes.ReduceShape> = {}): Promise<number | bigint> {
    const result = await this.runRows(input, shape);
    const value = result[0];
    if (result.length !== 1 || value === undefined) {
      throw new UpsweepError("invalid_request", "The result is more than one number: use runRows.");
    }
    return value;
  }

  /** One result a row of `segments: { kind: "rows" }`; items of any type. */
  async runRows(
    input: ArrayBufferView,
    shape: Uncounted<shapes.ReduceShape> & { secondItems?: ArrayBufferView } = {},
  ): Promise<NumberArray | Uint8Array> {
    const { secondItems, ...rest } = shape;
    const { type, count } = itemsOf(input, shape.input);
    const byRows = shape.segments?.kind === "rows";
    const secondInput = secondItems === undefined ? undefined : (shape.secondInput ?? elementOf(secondItems));
    const whole = { ...rest, input: type, secondInput, ...(byRows ? {} : { itemCount: count }) };
    const [output] = (await this.runOn(whole, { input, secondInput: secondItems }, ["output"])) as [Bytes];
    return arrayOf(output, resultType(shape.combine, shape.output, valueType({ ...shape, input: type })));
  }
}

export class Scan extends ArrayPrimitive<shapes.ScanShape, shapes.ScanBuffers, shapes.ScanTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.scan);
  }

  /** Prefix sums, or other prefix folds: inclusive unless the shape says otherwise. */
  async run(
    input: ArrayBufferView,
    shape: Uncounted<shapes.ScanShape> = {},
    boundaries: { heads?: Uint32Array; keys?: ArrayBufferView } = {},
  ): Promise<NumberArray | Uint8Array> {
    const { type, count } = itemsOf(input, shape.input);
    const byRows = shape.segments?.kind === "rows";
    const whole = { ...shape, input: type, ...(byRows ? {} : { itemCount: count }) };
    const [output] = (await this.runOn(whole, { input, ...boundaries }, ["output"])) as [Bytes];
    const value = valueType({ ...shape, input: type });
    return arrayOf(output, shape.output ?? resultType(shape.combine, shape.result, value));
  }
}

export class Select extends ArrayPrimitive<shapes.SelectShape, shapes.SelectBuffers, shapes.ScanTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.select);
  }

  /** The items that pass, in their order. With `{ flags }` as the predicate give the flags, too. */
  async run<A extends ArrayBufferView>(
    input: A,
    predicate: shapes.Predicate,
    options: { input?: Type; flags?: Uint32Array } = {},
  ): Promise<A> {
    const { type, count } = itemsOf(input, options.input);
    const shape = { itemCount: count, input: type, predicate };
    const inputs = { input, flags: options.flags };
    const [output, passed] = (await this.runOn(shape, inputs, ["output", "count"])) as [Bytes, Bytes];
    return arrayOf(output.slice(0, firstWord(passed) * strideOf(type)), type) as unknown as A;
  }
}

export class Partition extends ArrayPrimitive<shapes.PartitionShape, shapes.PartitionBuffers, shapes.ScanTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.partition);
  }

  /** The items that pass, then the others, both in their order; and how many pass. */
  async run<A extends NumberArray>(input: A, first: shapes.Predicate): Promise<{ items: A; count: number }> {
    const { type, count } = itemsOf(input, undefined);
    const shape = { itemCount: count, input: type, first };
    const [output, passed] = (await this.runOn(shape, { input }, ["output", "count"])) as [Bytes, Bytes];
    return { items: arrayOf(output, type) as A, count: firstWord(passed) };
  }
}

export class Unique extends ArrayPrimitive<shapes.UniqueShape, shapes.UniqueBuffers, shapes.ScanTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.unique);
  }

  /** The first item of every run of equal neighbours. Sort first for all distinct values. */
  async run<A extends ArrayBufferView>(
    input: A,
    shape: Omit<shapes.UniqueShape, "itemCount" | "writeIndices"> = {},
  ): Promise<A> {
    const { type, count } = itemsOf(input, shape.input);
    const whole = { ...shape, input: type, itemCount: count };
    const [output, runs] = (await this.runOn(whole, { input }, ["output", "count"])) as [Bytes, Bytes];
    return arrayOf(output.slice(0, firstWord(runs) * strideOf(type)), type) as unknown as A;
  }
}

export class RunLength extends ArrayPrimitive<shapes.RunLengthShape, shapes.RunLengthBuffers, shapes.ScanTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.runLength);
  }

  /** The value and the length of every run of equal neighbours. */
  async run<A extends NumberArray>(input: A): Promise<{ values: A; lengths: Uint32Array }> {
    const { type, count } = itemsOf(input, undefined);
    const shape = { itemCount: count, input: type };
    const [values, lengths, runs] = (await this.runOn(shape, { input }, ["values", "lengths", "count"])) as [
      Bytes,
      Bytes,
      Bytes,
    ];
    const found = firstWord(runs);
    return {
      values: arrayOf(values.slice(0, found * strideOf(type)), type) as A,
      lengths: new Uint32Array(lengths, 0, Math.min(found, lengths.byteLength / 4)),
    };
  }
}

export class ReduceByKey extends ArrayPrimitive<shapes.ReduceByKeyShape, shapes.ReduceByKeyBuffers, shapes.ScanTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.reduceByKey);
  }

  /** The fold of the values of every run of equal keys. */
  async run<K extends NumberArray>(
    keys: K,
    input: ArrayBufferView,
    shape: Omit<shapes.ReduceByKeyShape, "itemCount" | "key"> = {},
  ): Promise<{ keys: K; values: NumberArray | Uint8Array }> {
    const { type: key, count } = itemsOf(keys, undefined);
    const { type, count: values } = itemsOf(input, shape.input);
    if (values !== count) {
      throw new UpsweepError("invalid_request", `${count} keys do not go with ${values} values.`);
    }
    const whole = { ...shape, key, input: type, itemCount: count };
    const outputs = ["uniqueKeys", "output", "count"];
    const [unique, output, runs] = (await this.runOn(whole, { keys, input }, outputs)) as [Bytes, Bytes, Bytes];
    const found = firstWord(runs);
    const result = resultType(shape.combine, shape.output, type);
    return {
      keys: arrayOf(unique.slice(0, found * strideOf(key)), key) as K,
      values: arrayOf(output.slice(0, found * strideOf(result)), result),
    };
  }
}

export class AdjacentDifference extends ArrayPrimitive<
  shapes.AdjacentDifferenceShape,
  shapes.AdjacentDifferenceBuffers,
  shapes.ScanTuning
> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.adjacentDifference);
  }

  /** Each item minus the one before it; the first as it is. */
  async run<A extends NumberArray>(input: A, expression?: string): Promise<A> {
    const { type, count } = itemsOf(input, undefined);
    const [output] = (await this.runOn({ itemCount: count, input: type, expression }, { input }, ["output"])) as [
      Bytes,
    ];
    return arrayOf(output, type) as A;
  }
}

const SAMPLES = new Map<unknown, shapes.SampleType>([
  [Uint8Array, "u8"],
  [Uint8ClampedArray, "u8"],
  [Uint16Array, "u16"],
  [Uint32Array, "u32"],
  [Int32Array, "i32"],
  [Float32Array, "f32"],
]);

export class Histogram extends ArrayPrimitive<shapes.HistogramShape, shapes.HistogramBuffers, shapes.HistogramTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.histogram);
  }

  /** How many samples each bin holds; for several counted channels one after the other. Sums if there are weights. */
  async run(
    input: ArrayBufferView,
    bins: shapes.HistogramBins,
    options: Omit<shapes.HistogramShape, "itemCount" | "bins" | "accumulate"> & {
      weightItems?: Uint32Array | Float32Array;
    } = {},
  ): Promise<Uint32Array | Float32Array> {
    const { weightItems, ...rest } = options;
    checkArray(input);
    const sample = options.sample ?? SAMPLES.get(input.constructor);
    if (sample === undefined) {
      throw new UpsweepError("invalid_request", `A ${input.constructor.name} holds no samples that can be counted.`);
    }
    const sampleBytes = sample === "u8" ? 1 : sample === "u16" || sample === "f16" ? 2 : 4;
    const weights = weightItems === undefined ? "none" : weightItems instanceof Float32Array ? "floats" : "words";
    const channels = options.channels ?? 1;
    const itemCount = input.byteLength / sampleBytes / channels;
    if (!Number.isInteger(itemCount)) {
      throw new UpsweepError(
        "invalid_request",
        `${input.byteLength} bytes are not items of ${channels} samples of ${sample}.`,
      );
    }
    const shape = { weights, ...rest, itemCount, sample, bins };
    const [output] = (await this.runOn(shape, { input, weights: weightItems }, ["output"])) as [Bytes];
    return shape.weights === "floats" ? new Float32Array(output) : new Uint32Array(output);
  }
}

type SortOptions = Omit<shapes.SortShape, "itemCount" | "value" | "writeKeys" | "writeIndices" | "inPlace">;

export class Sort extends ArrayPrimitive<shapes.SortShape, shapes.SortBuffers, shapes.SortTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.sort);
  }

  /**
   * As `record` of the other primitives. Kernels for large tiles take long to compile: until they are ready, one for
   * small tiles serves, with the same result. `prepare` waits for them.
   */
  protected override recordViews(
    target: Parameters<Primitive<object, object, object>["record"]>[0],
    options: Record<string, unknown>,
    views: Parameters<Primitive<object, object, object>["recordViews"]>[2],
  ): void {
    const { executor, traits } = this.host;
    const { plan, tuning } = this.answerFor(options, views);
    // Tiles of 2 have twice the records of tiles of 4: many items would take much more scratch.
    const count = options["itemCount"] as shapes.Count;
    const few = (typeof count === "number" ? count : count.max) <= 2 ** 24 ? 2 : 4;
    const mayStandIn = options["tuning"] === undefined && !traits.isCpu && Number(tuning["itemsPerThread"]) > few;
    const waiting = mayStandIn ? plan.kernels.filter((kernel) => !executor.pipelines.isReady(kernel)) : [];
    if (waiting.length === 0) {
      executor.record(target, plan, views);
      return;
    }
    const small: Partial<shapes.SortTuning> = { itemsPerThread: few, stageRounds: 1, lookRecords: 1 };
    if (options["segmentCount"] !== undefined) small.oneWorkgroupItems = few * Number(tuning["workgroupSize"]);
    const standIn = this.answerFor({ ...options, tuning: small }, views).plan;
    const hasStoodIn = standIn.kernels.every((kernel) => executor.pipelines.isReady(kernel));
    executor.record(target, standIn, views);
    // The large ones are begun by the next call: compilers get into each other's way. Where one cannot be made, small
    // tiles serve on.
    if (!hasStoodIn) return;
    for (const kernel of waiting) executor.pipelines.prepare(kernel).catch(() => undefined);
  }

  /** The keys in ascending order (or `descending`). Stable, of -0 and 0, too; NaN is the greatest. */
  async run<K extends NumberArray>(keys: K, options?: SortOptions): Promise<K>;
  async run(keys: ArrayBufferView, options: SortOptions = {}): Promise<NumberArray | Uint8Array> {
    const { type, count, isF64 } = keysOf(keys, options.key);
    const shape = { keyIsF64: isF64, ...options, itemCount: count, key: type };
    const [sorted] = (await this.runOn(shape, { keys }, ["sortedKeys"])) as [Bytes];
    return keyArray(sorted, type, isF64);
  }

  /** The same, and the values that belong to the keys: one each, of so many bytes as there are for one. */
  async runPairs<K extends NumberArray, V extends ArrayBufferView>(
    keys: K,
    values: V,
    options: SortOptions & { value?: Type } = {},
  ): Promise<{ keys: K; values: V }> {
    const { type, count, isF64 } = keysOf(keys, options.key);
    const value = options.value ?? elementOf(values);
    if (countOf(values, value) !== count) {
      throw new UpsweepError("invalid_request", `${count} keys do not go with ${countOf(values, value)} values.`);
    }
    const shape = { keyIsF64: isF64, ...options, itemCount: count, key: type, value };
    const outputs = ["sortedKeys", "sortedValues"];
    const [sorted, moved] = (await this.runOn(shape, { keys, values }, outputs)) as [Bytes, Bytes];
    return {
      keys: keyArray(sorted, type, isF64) as K,
      values: (options.value === undefined && IS_F64(values)
        ? new Float64Array(moved)
        : arrayOf(moved, value)) as unknown as V,
    };
  }

  /** Where each item of the sorted array was: numpy.argsort with kind="stable". */
  async argsort(keys: ArrayBufferView, options: SortOptions = {}): Promise<Uint32Array> {
    const { type, count, isF64 } = keysOf(keys, options.key);
    const shape = { keyIsF64: isF64, ...options, itemCount: count, key: type, writeKeys: false, writeIndices: true };
    const [indices] = (await this.runOn(shape, { keys }, ["indices"])) as [Bytes];
    return new Uint32Array(indices);
  }
}

export class TopK extends ArrayPrimitive<shapes.TopKShape, shapes.TopKBuffers, shapes.TopKTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.topK);
  }

  /** The k smallest keys, or the `largest`, and where they are. */
  async run<K extends NumberArray>(
    keys: K,
    k: number,
    options: { largest?: boolean; order?: "sorted" | "input_order" } = {},
  ): Promise<{ keys: K; indices: Uint32Array }> {
    const { type, count, isF64 } = keysOf(keys, undefined);
    const shape = { ...options, itemCount: count, k, key: type, keyIsF64: isF64, writeIndices: true };
    const [top, indices] = (await this.runOn(shape, { keys }, ["topKeys", "indices"])) as [Bytes, Bytes];
    return { keys: keyArray(top, type, isF64) as K, indices: new Uint32Array(indices) };
  }
}

export class Search extends ArrayPrimitive<shapes.SearchShape, shapes.SearchBuffers, shapes.SearchTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.search);
  }

  /** Where each query belongs in the sorted items: numpy.searchsorted. */
  async run<K extends NumberArray>(
    items: K,
    queries: K,
    options: { bound?: "lower" | "upper"; order?: shapes.KeyOrder } = {},
  ): Promise<Uint32Array> {
    const { type, count, isF64 } = keysOf(items, undefined);
    const shape = {
      ...options,
      order: orderOf(options.order, isF64),
      itemCount: count,
      queryCount: countAlike(queries, items, type),
      item: type,
    };
    const [positions] = (await this.runOn(shape, { items, queries }, ["positions"])) as [Bytes];
    return new Uint32Array(positions);
  }
}

export class Merge extends ArrayPrimitive<shapes.MergeShape, shapes.MergeBuffers, shapes.MergeTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.merge);
  }

  /** Two sorted arrays as one. Of equal keys those on the left come first. */
  async run<K extends NumberArray>(leftKeys: K, rightKeys: K, order?: shapes.KeyOrder): Promise<K> {
    const { type, count, isF64 } = keysOf(leftKeys, undefined);
    const shape = {
      leftCount: count,
      rightCount: countAlike(rightKeys, leftKeys, type),
      key: type,
      order: orderOf(order, isF64),
    };
    const [merged] = (await this.runOn(shape, { leftKeys, rightKeys }, ["mergedKeys"])) as [Bytes];
    return keyArray(merged, type, isF64) as K;
  }
}

export class MergeSort extends ArrayPrimitive<shapes.MergeSortShape, shapes.MergeSortBuffers, shapes.MergeSortTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.mergeSort);
  }

  /** Items of any type by any order; for numbers in their own order `sort` is faster. */
  async run<K extends ArrayBufferView>(keys: K, order?: shapes.KeyOrder, key?: Type): Promise<K> {
    const { type, count, isF64 } = keysOf(keys, key);
    const shape = { itemCount: count, key: type, order: orderOf(order, isF64) };
    const [sorted] = (await this.runOn(shape, { keys }, ["sortedKeys"])) as [Bytes];
    return keyArray(sorted, type, isF64) as unknown as K;
  }
}

export class IsSorted extends ArrayPrimitive<shapes.IsSortedShape, shapes.IsSortedBuffers, Record<string, never>> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.isSorted);
  }

  async run(input: NumberArray, order?: shapes.KeyOrder): Promise<boolean> {
    const { type, count, isF64 } = keysOf(input, undefined);
    const shape = { itemCount: count, input: type, order: orderOf(order, isF64) };
    const [result] = (await this.runOn(shape, { input }, ["result"])) as [Bytes];
    return firstWord(result) === 1;
  }
}

/** Compressed sparse rows: row r has the entries rowOffsets[r] to rowOffsets[r + 1]. */
export interface CsrMatrix {
  columnCount: number;
  rowOffsets: Uint32Array;
  columns: Uint32Array;
  values: Float32Array;
}

export class Spmv extends ArrayPrimitive<shapes.SpmvShape, shapes.SpmvBuffers, shapes.SpmvTuning> {
  constructor(host: ArrayHost) {
    super(host, ROOMS.spmv);
  }

  /** The matrix times a vector. */
  async run(matrix: CsrMatrix, x: Float32Array): Promise<Float32Array> {
    const { rowOffsets, columns, values, columnCount } = matrix;
    for (const array of [rowOffsets, columns, values, x]) checkArray(array);
    const rowCount = rowOffsets.length - 1;
    if (x.length !== columnCount || columns.length !== values.length) {
      throw new UpsweepError(
        "invalid_request",
        `${columns.length} columns, ${values.length} values and x of ${x.length} do not make a product of ` +
          `${columnCount} columns.`,
      );
    }
    const shape = { matrix: { format: "csr", rowCount, columnCount, entryCount: values.length } };
    const [y] = (await this.runOn(shape, { rowOffsets, columns, values, x }, ["y"])) as [Bytes];
    return new Float32Array(y);
  }
}

/** What products by merge path find out about row offsets, once for many products. */
export class SpmvTiles extends Primitive<shapes.SpmvShape, shapes.SpmvTilesBuffers, shapes.SpmvTuning> {
  constructor(host: Host) {
    super(host, ROOMS.spmvTiles);
  }
}
