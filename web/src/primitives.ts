// SPDX-License-Identifier: Apache-2.0
// One primitive: from a request to a plan, and from there to commands. src/primitives/X/X.cpp is the same in C++.
import { constantBytes, valueType } from "./elements.js";
import { messageOf, UpsweepError } from "./errors.js";
import type { Executor, RecordTarget } from "./executor.js";
import type { Plan } from "./plan.js";
import type { PlanAnswer, Planner, PlanRequest } from "./planner.js";
import type { ElementType } from "./shapes.js";
import type { DeviceTraits } from "./traits.js";
import { type Arguments, type BufferView, checkView, isSamePlace, offsetOf, rangeOf } from "./views.js";

/** What primitives need of their context. */
export interface Host {
  readonly device: GPUDevice;
  readonly planner: Planner;
  readonly executor: Executor;
  readonly traits: DeviceTraits;
  /** Plans by what they were asked for; emptied when the traits change. */
  readonly plans: Map<string, PlanAnswer>;
  /** The one copy of each kernel. */
  intern(answer: PlanAnswer): PlanAnswer;
}

/** A shape, with the knobs to set by hand, if any. */
export type PlanOptions<Shape, Tuning> = Shape & { tuning?: Partial<Tuning> | undefined };
/** A shape, and the buffers to work on. */
export type RecordOptions<Shape, Buffers, Tuning> = PlanOptions<Shape, Tuning> & { buffers: Buffers };

type Views = Readonly<Record<string, BufferView | undefined>>;
type Knobs = Record<string, unknown>;

/** What is particular to a primitive. */
export interface Room {
  /** Its name among the planners. */
  readonly name: string;
  /** All buffers that it may have. */
  readonly buffers: readonly string[];
  /** Fields of the planner's offsets, and the buffers that they are of. */
  readonly offsets?: Readonly<Record<string, string>>;
  /** An input and an output that may be the same view. */
  readonly inPlace?: (shape: Knobs, views: Views) => boolean;
  /**
   * Inputs that are read as vectors have two bindings, which cannot share a buffer with a range that is written: the
   * knobs that then have to change.
   */
  readonly withoutVectors?: (views: Views) => Knobs | undefined;
}

const MOST_PLANS = 1024;
// Without one nothing would be done, silently.
const COUNTS = ["itemCount", "queryCount", "leftCount", "rightCount", "k"];

export class Primitive<Shape extends object, Buffers extends object, Tuning extends object> {
  protected readonly host: Host;
  protected readonly room: Room;

  constructor(host: Host, room: Room) {
    this.host = host;
    this.room = room;
  }

  /**
   * Plans, then records into the encoder (in a compute pass of its own) or into the open pass. Neither submits nor
   * waits. Throws an UpsweepError before anything is recorded; what a compiler says of a kernel that is met for the
   * first time here arrives later, as an error of the context: `prepare` awaits it.
   */
  record(target: RecordTarget, options: RecordOptions<Shape, Buffers, Tuning>): void {
    const { shape, views } = this.#parts(options);
    for (const name of COUNTS) {
      if (!this.room.buffers.includes(name) || (shape[name] ?? shape["segments"] ?? undefined) !== undefined) continue;
      throw new UpsweepError("invalid_request", `${this.room.name} is told no ${name}.`);
    }
    this.recordViews(target, shape, views);
  }

  /** Creates the pipelines, so that `record` does not. Rejects with what the compiler says of them. */
  async prepare(options: PlanOptions<Shape, Tuning> & { buffers?: Buffers }): Promise<void> {
    const { shape, views } = this.#parts(options);
    await this.host.executor.prepare(this.answerFor(shape, views).plan);
  }

  /** The plan as data. With buffers, for their offsets. */
  plan(options: PlanOptions<Shape, Tuning> & { buffers?: Buffers }): Plan {
    const { shape, views } = this.#parts(options);
    return this.answerFor(shape, views).plan;
  }

  /** The plan as text: passes, grids, bindings, scratch, and the reason for each choice. */
  explain(options: PlanOptions<Shape, Tuning> & { buffers?: Buffers }): string {
    const { shape, views } = this.#parts(options);
    return this.host.planner.explain(this.#request(shape, views));
  }

  /** The library's choice of knobs for a shape. */
  tuning(options: PlanOptions<Shape, Tuning>): Tuning {
    return this.host.planner.tuning(this.#request(options as Knobs, {})) as unknown as Tuning;
  }

  protected recordViews(target: RecordTarget, options: Knobs, views: Views): void {
    this.host.executor.record(target, this.answerFor(options, views).plan, views as Arguments);
  }

  protected answerFor(options: Knobs, views: Views): PlanAnswer {
    const request = this.#request(options, views);
    const key = keyOf(request);
    const { plans } = this.host;
    let answer = plans.get(key);
    if (answer === undefined) {
      answer = this.host.intern(this.host.planner.plan(request));
      // Counts that change every frame make new plans: drop them all at times rather than grow for ever.
      if (plans.size >= MOST_PLANS) plans.clear();
      plans.set(key, answer);
    }
    return answer;
  }

  #request(options: Knobs, views: Views): PlanRequest {
    const { tuning, ...shape } = options;
    if (this.room.inPlace?.(shape, views) === true) shape["inPlace"] = true;
    if (shape["init"] !== undefined) {
      shape["init"] = constantBytes(shape["init"], valueType(shape as { value?: ElementType; input?: ElementType }));
    }
    const bins = shape["bins"] as { kind?: string; edges?: ArrayLike<number>; count?: number } | undefined;
    if (bins?.edges !== undefined) {
      const edges = Float64Array.from(bins.edges);
      shape["bins"] = { ...bins, edges, count: bins.count ?? Math.max(edges.length - 1, 0) };
    }
    const without = this.room.withoutVectors?.(views);
    const { offsetAlignment } = this.host.traits;
    const offsets = Object.entries(this.room.offsets ?? {}).map(([field, name]) => {
      return [field, offsetOf(views[name]) % offsetAlignment];
    });
    return {
      primitive: this.room.name,
      shape,
      traits: this.host.traits,
      tuning: without === undefined ? (tuning as object | undefined) : merged(tuning as Knobs | undefined, without),
      offsets: offsets.length === 0 ? undefined : Object.fromEntries(offsets),
    };
  }

  #parts(options: PlanOptions<Shape, Tuning> & { buffers?: Buffers }): { shape: Knobs; views: Views } {
    if (typeof options !== "object" || options === null) {
      throw new UpsweepError("invalid_request", `${this.room.name} is given no shape: { itemCount: ..., ... }.`);
    }
    const { buffers, ...shape } = options;
    const views = (buffers ?? {}) as Views;
    for (const [name, view] of Object.entries(views)) {
      checkView(name, view);
      if (this.room.buffers.includes(name)) continue;
      throw new UpsweepError(
        "invalid_request",
        `There is no buffer "${name}" in ${this.room.name}; there are ${this.room.buffers.join(", ")}.`,
      );
    }
    return { shape: shape as Knobs, views };
  }
}

function merged(tuning: Knobs | undefined, without: Knobs): Knobs {
  const result: Knobs = { ...tuning };
  for (const [name, value] of Object.entries(without)) {
    result[name] = typeof value === "object" ? { ...(tuning?.[name] as object | undefined), ...value } : value;
  }
  return result;
}

// The traits belong to the cache as a whole.
function keyOf(request: PlanRequest): string {
  const parts = [request.primitive, request.shape, request.tuning, request.offsets];
  const asText = (name: string, value: unknown): unknown => {
    if (typeof value === "function" || typeof value === "bigint" || typeof value === "symbol") {
      const hint = typeof value === "function" ? " Operators and expressions are WGSL, as text." : "";
      throw new UpsweepError("invalid_request", `${name} is a ${typeof value}, which no request has.${hint}`);
    }
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    if (ArrayBuffer.isView(value)) {
      return [value.constructor.name, ...new Uint8Array(value.buffer, value.byteOffset, value.byteLength)];
    }
    return value;
  };
  try {
    return JSON.stringify(parts, asText);
  } catch (error) {
    if (error instanceof UpsweepError) throw error;
    throw new UpsweepError("invalid_request", messageOf(error), { cause: error }); // it refers to itself
  }
}

// A later view of the same buffer, elsewhere in it: the same place is a scan in place.
function sharesBuffer(views: Views, inputs: readonly string[]): Knobs | undefined {
  for (const input of inputs) {
    const from = rangeOf(views[input]);
    if (from === undefined) continue;
    for (const [name, view] of Object.entries(views)) {
      const other = rangeOf(view);
      const isOther = other !== undefined && !inputs.includes(name) && other.buffer === from.buffer;
      if (isOther && (other.offset ?? 0) !== (from.offset ?? 0)) return { useVectors: false };
    }
  }
  return undefined;
}

function isOneBuffer(views: Views, output: string, inputs: readonly string[]): boolean {
  const to = rangeOf(views[output])?.buffer;
  return to !== undefined && inputs.some((input) => rangeOf(views[input])?.buffer === to);
}

const SCAN_OFFSETS = { inputBytes: "input", outputBytes: "output" };
const scanRoom = (name: string, buffers: readonly string[]): Room => ({
  name,
  buffers,
  offsets: SCAN_OFFSETS,
  withoutVectors: (views) => sharesBuffer(views, ["input"]),
});

function sortsInPlace(shape: Knobs, views: Views): boolean {
  const sameKeys = isSamePlace(views["keys"], views["sortedKeys"]);
  const sameValues = isSamePlace(views["values"], views["sortedValues"]);
  const inPlace = sameKeys && (shape["value"] === undefined || sameValues);
  if (!inPlace && (sameKeys || sameValues)) {
    throw new UpsweepError(
      "invalid_request",
      "A sort in place has one view for keys and one for values; only one of the two is in place.",
    );
  }
  if (shape["inPlace"] === true && views["keys"] !== undefined && !inPlace) {
    throw new UpsweepError(
      "invalid_request",
      "A sort in place has one view; the keys are another than the sorted keys.",
    );
  }
  return inPlace;
}

function scansInPlace(shape: Knobs, views: Views): boolean {
  const inPlace = isSamePlace(views["input"], views["output"]);
  if (shape["inPlace"] === true && views["input"] !== undefined && !inPlace) {
    throw new UpsweepError("invalid_request", "A scan in place has one view; the input is another than the output.");
  }
  return inPlace;
}

export const ROOMS = {
  reduce: {
    name: "reduce",
    buffers: ["input", "output", "secondInput", "itemCount", "segmentBegins", "segmentEnds"],
    offsets: { inputBytes: "input", secondInputBytes: "secondInput" },
    withoutVectors: (views) =>
      isOneBuffer(views, "output", ["input", "secondInput"]) ? { useVectors: false } : undefined,
  },
  scan: {
    ...scanRoom("scan", ["input", "output", "total", "heads", "keys", "itemCount"]),
    inPlace: scansInPlace,
  },
  select: scanRoom("select", ["input", "output", "count", "indices", "flags", "itemCount", "dispatchArguments"]),
  partition: scanRoom("partition", ["input", "output", "count", "flags", "itemCount"]),
  unique: scanRoom("unique", ["input", "output", "count", "indices", "itemCount"]),
  runLength: {
    ...scanRoom("run_length", ["input", "values", "lengths", "offsets", "count", "itemCount"]),
    offsets: { inputBytes: "input", outputBytes: "values" },
  },
  reduceByKey: {
    name: "reduce_by_key",
    buffers: ["keys", "input", "uniqueKeys", "output", "count", "itemCount"],
    offsets: { inputBytes: "keys", outputBytes: "input" },
    withoutVectors: (views) => sharesBuffer(views, ["keys", "input"]),
  },
  adjacentDifference: scanRoom("adjacent_difference", ["input", "output", "itemCount"]),
  histogram: {
    name: "histogram",
    buffers: ["input", "output", "weights", "edges", "itemCount"],
    offsets: { inputBytes: "input", weightsBytes: "weights" },
    withoutVectors: (views) => (isOneBuffer(views, "output", ["input"]) ? { useVectors: false } : undefined),
  },
  sort: {
    name: "sort",
    buffers: [
      "keys",
      "values",
      "sortedKeys",
      "sortedValues",
      "indices",
      "itemCount",
      "segmentBegins",
      "segmentEnds",
      "segmentCount",
    ],
    inPlace: sortsInPlace,
  },
  topK: {
    name: "top_k",
    buffers: ["keys", "values", "topKeys", "topValues", "indices", "count", "threshold", "itemCount", "k"],
    offsets: { inputBytes: "keys" },
    withoutVectors: (views) =>
      isOneBuffer(views, "topKeys", ["keys"]) || isOneBuffer(views, "indices", ["keys"])
        ? { compaction: { useVectors: false } }
        : undefined,
  },
  search: { name: "search", buffers: ["items", "queries", "positions", "itemCount", "queryCount"] },
  merge: {
    name: "merge",
    buffers: [
      "leftKeys",
      "rightKeys",
      "mergedKeys",
      "leftValues",
      "rightValues",
      "mergedValues",
      "leftCount",
      "rightCount",
    ],
  },
  mergeSort: {
    name: "merge_sort",
    buffers: ["keys", "values", "sortedKeys", "sortedValues", "indices", "itemCount"],
  },
  isSorted: { name: "is_sorted", buffers: ["input", "result", "leadingCount", "itemCount"] },
  spmv: {
    name: "spmv",
    buffers: [
      "rowOffsets",
      "rows",
      "sliceOffsets",
      "rowOrder",
      "columns",
      "values",
      "restRows",
      "restOffsets",
      "restColumns",
      "restValues",
      "x",
      "y",
      "scalars",
      "tiles",
    ],
  },
  spmvTiles: { name: "spmv_tiles", buffers: ["rowOffsets", "tiles"] },
} satisfies Record<string, Room>;
