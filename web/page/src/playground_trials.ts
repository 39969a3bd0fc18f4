// SPDX-License-Identifier: Apache-2.0
// What the playground can run: for each primitive its request, its items, and the check of its result.
import type { Plan, Upsweep } from "../../src/index.js";
import type { Verdict } from "./playground_checks.js";
import * as checks from "./playground_checks.js";
import { type Distribution, type Items, makeItems, type TypeName } from "./playground_data.js";
import { functionOf, type Preset, type TextKind } from "./playground_operators.js";

export const PRIMITIVES = [
  "reduce",
  "scan",
  "select",
  "partition",
  "unique",
  "runLength",
  "reduceByKey",
  "adjacentDifference",
  "histogram",
  "sort",
  "topK",
  "mergeSort",
  "isSorted",
  "search",
  "merge",
] as const;
export type PrimitiveName = (typeof PRIMITIVES)[number];

export type Extra = "exclusive" | "descending" | "largest" | "k" | "bins";

/** What the form shows for a primitive. */
export interface Room {
  readonly text?: TextKind;
  readonly extras?: readonly Extra[];
  /** The items' distribution that shows something. */
  readonly distribution?: Distribution;
}
export const ROOMS: Readonly<Record<PrimitiveName, Room>> = {
  reduce: { text: "operator" },
  scan: { text: "operator", extras: ["exclusive"] },
  select: { text: "predicate" },
  partition: { text: "predicate" },
  unique: { text: "equality", distribution: "runs" },
  runLength: { text: "equality", distribution: "runs" },
  reduceByKey: { text: "operator", distribution: "runs" },
  adjacentDifference: { text: "difference", distribution: "sorted" },
  histogram: { extras: ["bins"] },
  sort: { extras: ["descending"] },
  topK: { extras: ["k", "largest"] },
  mergeSort: { text: "order" },
  isSorted: { text: "order", distribution: "sorted" },
  search: {},
  merge: {},
};

/** What the reader chose. */
export interface Choice {
  readonly primitive: PrimitiveName;
  readonly type: TypeName;
  readonly items: number;
  readonly distribution: Distribution;
  readonly preset: Preset | undefined;
  /** The editor's text, where the preset has one. */
  readonly text: string;
  readonly isEdited: boolean;
  readonly identity: string;
  readonly isCommutative: boolean;
  readonly isExclusive: boolean;
  readonly isDescending: boolean;
  readonly isLargest: boolean;
  readonly k: number;
  readonly bins: number;
}

export interface OutputSlot {
  readonly name: string;
  readonly type: TypeName;
  /** Only as many items count as the output `count` says. */
  readonly isCounted?: boolean;
}

export type Outputs = Readonly<Record<string, Items>>;

export interface Trial {
  readonly plan: Plan;
  readonly explanation: string;
  readonly inputs: Readonly<Record<string, Items>>;
  readonly outputs: readonly OutputSlot[];
  check(outputs: Outputs, signal: AbortSignal): Promise<Verdict>;
}

export class NoFunctionError extends Error {}

interface Planned {
  plan(options: object): Plan;
  explain(options: object): string;
}

const NONE: Verdict = { kind: "none" };

/** The library's operator, or the editor's. */
function combineOf(choice: Choice): object {
  const { preset, text } = choice;
  if (preset?.text === undefined) return { combine: preset?.name ?? "sum" };
  const name = functionOf(text);
  if (name === undefined) throw new NoFunctionError();
  return {
    combine: { function: name, wgsl: text, identity: choice.identity, commutative: choice.isCommutative },
  };
}

function orderOf(choice: Choice): object | string {
  const { preset, text } = choice;
  if (preset?.text === undefined) return preset?.name ?? "ascending";
  const name = functionOf(text);
  if (name === undefined) throw new NoFunctionError();
  return { function: name, wgsl: text };
}

/** Of the items that `makeItems` gives. */
function binsOf({ type, bins }: Choice): { kind: "even"; count: number; lower: number; upper: number } {
  const [lower, upper] = ({ u32: [0, 1e6], i32: [-5e5, 5e5], f32: [0, 1] } as const)[type];
  return { kind: "even", count: bins, lower, upper };
}

export async function makeTrial(up: Upsweep, choice: Choice, signal: AbortSignal): Promise<Trial> {
  const { primitive, type, items: itemCount, preset, text } = choice;
  const make = (distribution: Distribution, count: number, seed: number) =>
    makeItems(type, distribution, count, seed, signal);
  const given = () => make(choice.distribution, itemCount, 1);
  const one = (name: string, outputType: TypeName = type): OutputSlot => ({ name, type: outputType });
  const counted = (name: string, outputType: TypeName = type): OutputSlot => ({
    name,
    type: outputType,
    isCounted: true,
  });
  const count = one("count", "u32");
  // What was changed has no twin.
  const twin = choice.isEdited ? undefined : preset;
  const compared = preset?.text === undefined ? preset : twin;

  const finish = (
    shape: object,
    inputs: Record<string, Items>,
    outputs: readonly OutputSlot[],
    check: (outputs: Outputs) => Promise<Verdict> | Verdict,
  ): Trial => {
    const planner = up[primitive] as unknown as Planned;
    return {
      plan: planner.plan(shape),
      explanation: planner.explain(shape),
      inputs,
      outputs,
      check: async (found) => check(found),
    };
  };
  const at = (found: Outputs, name: string) => found[name] as Items;

  switch (primitive) {
    case "reduce": {
      const input = await given();
      const output = one("output", preset?.name === "argmax" ? "u32" : type);
      return finish({ itemCount, input: type, ...combineOf(choice) }, { input }, [output], (found) =>
        compared === undefined ? NONE : checks.checkReduce(input, at(found, "output"), compared, type, signal),
      );
    }
    case "scan": {
      const input = await given();
      const shape = {
        itemCount,
        input: type,
        kind: choice.isExclusive ? "exclusive" : "inclusive",
        ...combineOf(choice),
      };
      return finish(shape, { input }, [one("output")], (found) =>
        compared === undefined
          ? NONE
          : checks.checkScan(input, at(found, "output"), compared, type, choice.isExclusive, signal),
      );
    }
    case "select":
    case "partition": {
      const input = await given();
      const isPartition = primitive === "partition";
      const shape = { itemCount, input: type, [isPartition ? "first" : "predicate"]: text };
      const output = isPartition ? one("output") : counted("output");
      return finish(shape, { input }, [output, count], (found) => {
        const test = twin?.test;
        if (test === undefined) return NONE;
        const passed = at(found, "count")[0] as number;
        const isWanted = (x: number, i: number) => test(x, i, type);
        return checks.checkSelect(input, at(found, "output"), passed, isWanted, isPartition, signal);
      });
    }
    case "unique":
    case "runLength": {
      const input = await given();
      const isUnique = primitive === "unique";
      const outputs = isUnique ? [counted("output"), count] : [counted("values"), counted("lengths", "u32"), count];
      return finish({ itemCount, input: type, equality: text }, { input }, outputs, (found) => {
        if (twin?.pair === undefined) return NONE;
        const runs = isUnique
          ? { name: "output", values: at(found, "output") }
          : { name: "values", values: at(found, "values"), lengths: at(found, "lengths") };
        return checks.checkRuns(input, runs, twin.pair, signal);
      });
    }
    case "reduceByKey": {
      const keys = (await makeItems("u32", choice.distribution, itemCount, 1, signal)) as Uint32Array<ArrayBuffer>;
      const input = await make("uniform", itemCount, 2);
      const outputs = [counted("uniqueKeys", "u32"), counted("output"), count];
      const shape = { itemCount, key: "u32", input: type, ...combineOf(choice) };
      return finish(shape, { keys, input }, outputs, async (found) => {
        if (compared === undefined) return NONE;
        const unique = { name: "uniqueKeys", values: at(found, "uniqueKeys") };
        const first = await checks.checkRuns(keys, unique, (a, b) => a === b, signal);
        return checks.both(
          first,
          await checks.checkReduceByKey(keys, input, at(found, "output"), compared, type, signal),
        );
      });
    }
    case "adjacentDifference": {
      const input = await given();
      return finish({ itemCount, input: type, expression: text }, { input }, [one("output")], (found) =>
        twin?.pair === undefined ? NONE : checks.checkDifference(input, at(found, "output"), twin.pair, type, signal),
      );
    }
    case "histogram": {
      const input = await given();
      const bins = binsOf(choice);
      return finish({ itemCount, sample: type, bins }, { input }, [one("output", "u32")], (found) =>
        checks.checkHistogram(input, at(found, "output"), bins, signal),
      );
    }
    case "sort": {
      const keys = await given();
      const shape = { itemCount, key: type, descending: choice.isDescending };
      return finish(shape, { keys }, [one("sortedKeys")], (found) =>
        checks.checkOrder(
          [keys],
          at(found, "sortedKeys"),
          "sortedKeys",
          choice.isDescending ? (a, b) => a > b : (a, b) => a < b,
          signal,
        ),
      );
    }
    case "topK": {
      const keys = await given();
      const k = Math.min(choice.k, itemCount);
      const shape = { itemCount, k, key: type, largest: choice.isLargest, writeIndices: true };
      return finish(shape, { keys }, [one("topKeys"), one("indices", "u32")], (found) =>
        checks.checkTopK(keys, at(found, "topKeys"), at(found, "indices"), k, choice.isLargest, signal),
      );
    }
    case "mergeSort": {
      const keys = await given();
      return finish({ itemCount, key: type, order: orderOf(choice) }, { keys }, [one("sortedKeys")], (found) =>
        compared?.pair === undefined
          ? NONE
          : checks.checkOrder([keys], at(found, "sortedKeys"), "sortedKeys", compared.pair, signal),
      );
    }
    case "isSorted": {
      const input = await given();
      const shape = { itemCount, input: type, order: orderOf(choice) };
      return finish(shape, { input }, [one("result", "u32")], (found) =>
        compared?.pair === undefined ? NONE : checks.checkIsSorted(input, at(found, "result"), compared.pair, signal),
      );
    }
    case "search": {
      const items = await make("sorted", itemCount, 1);
      const queries = await make(choice.distribution, itemCount, 2);
      const shape = { itemCount, queryCount: itemCount, item: type };
      return finish(shape, { items, queries }, [one("positions", "u32")], (found) =>
        checks.checkSearch(items, queries, at(found, "positions"), signal),
      );
    }
    case "merge": {
      const leftCount = Math.ceil(itemCount / 2);
      const rightCount = itemCount - leftCount;
      const leftKeys = await make("sorted", leftCount, 1);
      const rightKeys = await make("sorted", rightCount, 2);
      return finish({ leftCount, rightCount, key: type }, { leftKeys, rightKeys }, [one("mergedKeys")], (found) =>
        checks.checkOrder([leftKeys, rightKeys], at(found, "mergedKeys"), "mergedKeys", (a, b) => a < b, signal),
      );
    }
  }
}
