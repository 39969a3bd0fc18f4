// SPDX-License-Identifier: Apache-2.0
// What a device really does: the probe's small kernels, and the self-test of single-pass plans with look-back. The
// kernels are the planners'; sizes and inputs are those of src/exec/probe.cpp, scan_self_test.cpp and sort_self_test.cpp.
import { messageOf } from "./errors.js";
import { withoutSubgroups } from "./traits.js";
import type { Upsweep } from "./upsweep.js";

export interface ProbeReport {
  ran: boolean;
  /** As seen inside a kernel; 0 without subgroups. */
  subgroupSize: number;
  /** Lanes that answered a ballot. */
  ballotWidth: number;
  /** subgroup = index / size and lane = index % size for every thread. */
  subgroupIdsFollowIndex: boolean;
  /** Counted right. */
  workgroupAtomics: boolean;
  integerDivision: boolean;
  /** f32 arithmetic does not flush subnormal results to zero. */
  keepsSubnormals: boolean;
  selfTestRan: boolean;
  /** Every single-pass scan and selection of the self-test was right. */
  lookBack: boolean;
  /** So was every sort that ranks in lock-step (tried on devices of NVIDIA). */
  lockStep: boolean;
  /** Why the self-test could not run to its end. */
  selfTestError: string;
}

export const NO_REPORT: ProbeReport = {
  ran: false,
  subgroupSize: 0,
  ballotWidth: 0,
  subgroupIdsFollowIndex: false,
  workgroupAtomics: false,
  integerDivision: false,
  keepsSubnormals: false,
  selfTestRan: false,
  lookBack: false,
  lockStep: false,
  selfTestError: "",
};

const THREADS = 256;

async function runProbe(up: Upsweep, primitive: string): Promise<Uint32Array> {
  const { plan } = up.planner.plan({ primitive, traits: up.traits });
  const [output] = (await up.runPlan(plan, {}, ["output"])) as [ArrayBuffer];
  return new Uint32Array(output);
}

/** Fills the report, and corrects the traits. */
export async function probe(up: Upsweep, report: ProbeReport): Promise<void> {
  const facts = await runProbe(up, "probe_arithmetic");
  report.workgroupAtomics = facts[0] === THREADS;
  report.integerDivision = facts[1] === 0;
  report.keepsSubnormals = facts[2] === 0x00400000;
  if (up.traits.subgroups) {
    const seen = await runProbe(up, "probe_subgroups");
    const size = seen[0] as number;
    report.subgroupSize = size;
    report.ballotWidth = seen[2] as number;
    let follow = true;
    let agree = true;
    for (let index = 0; index < THREADS; ++index) {
      const [own, lane, ballot, least] = seen.subarray(index * 4, index * 4 + 4) as unknown as [
        number,
        number,
        number,
        number,
      ];
      agree &&= own === size && lane < own && ballot <= own;
      follow &&= own !== 0 && lane === index % own && least === index - lane;
    }
    report.subgroupIdsFollowIndex = follow && agree;
    const { traits } = up;
    up.overrideTraits({
      ...traits,
      // Some devices run narrower subgroups than they report.
      subgroupMinSize: Math.min(traits.subgroupMinSize, size),
      subgroupIdsFollowIndex: report.subgroupIdsFollowIndex,
    });
    // A device whose lanes contradict its own size is not to be trusted with more.
    if (!agree || report.ballotWidth !== report.subgroupSize) up.overrideTraits(withoutSubgroups(up.traits));
  }
  report.ran = true;
}

const TILE_ITEMS = 256 * 8 * 4;
const MOST_TILES = 70;

function randomItems(count: number): Uint32Array<ArrayBuffer> {
  const items = new Uint32Array(count);
  let state = 1;
  for (let i = 0; i < count; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    items[i] = state >>> 7;
  }
  return items;
}

function isEqual(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((word, i) => word === b[i]);
}

function testedTuning(up: Upsweep): object {
  return { ...up.scan.tuning({ itemCount: 2 ** 24, input: "u32" }), path: "single_pass" };
}

const PREDICATE = "x % 3u != 1u";

async function isScanRight(up: Upsweep, items: Uint32Array<ArrayBuffer>, tuning: object): Promise<boolean> {
  const shape = { itemCount: items.length, input: "u32" as const, tuning };
  const [output] = (await up.runPlan(up.scan.plan(shape), { input: items }, ["output"])) as [ArrayBuffer];
  let sum = 0;
  const wanted = items.map((item) => {
    sum = (sum + item) >>> 0;
    return sum;
  });
  return isEqual(new Uint32Array(output), wanted);
}

async function isSelectRight(up: Upsweep, items: Uint32Array<ArrayBuffer>, tuning: object): Promise<boolean> {
  const shape = { itemCount: items.length, input: "u32" as const, predicate: PREDICATE, tuning };
  const [output, count] = (await up.runPlan(up.select.plan(shape), { input: items }, ["output", "count"])) as [
    ArrayBuffer,
    ArrayBuffer,
  ];
  const wanted = items.filter((item) => item % 3 !== 1);
  const passed = new Uint32Array(count)[0];
  return passed === wanted.length && isEqual(new Uint32Array(output, 0, wanted.length), wanted);
}

/** Sets the trait `lookBack` if every answer is right. */
export async function selfTest(up: Upsweep, report: ProbeReport): Promise<void> {
  const { traits } = up;
  let isRight = true;
  try {
    const items = randomItems(MOST_TILES * TILE_ITEMS);
    for (const [testHiddenChunks, tileCounts] of [
      [0, [1, 2, 3, 40, MOST_TILES]],
      // With hidden tiles only the longest: it is the fallback that is tried.
      [3, [MOST_TILES]],
    ] as const) {
      up.overrideTraits({ ...traits, testHiddenChunks });
      const tuning = testedTuning(up);
      for (const tiles of tileCounts) {
        const part = items.slice(0, tiles * TILE_ITEMS - 5);
        isRight &&= await isScanRight(up, part, tuning);
        isRight &&= await isSelectRight(up, part, tuning);
      }
    }
  } catch (error) {
    // A device that refuses these kernels can do without them: two passes serve.
    report.selfTestError = messageOf(error);
    isRight = false;
  }
  up.overrideTraits({ ...traits, lookBack: isRight });
  report.selfTestRan = true;
  report.lookBack = isRight;
}

const SORT_ITEMS = 2039; // not a multiple of a row

function keysOfRound(round: number): Uint32Array<ArrayBuffer> {
  // From all digits equal to all different: 1, 2, 4, ... values for each byte.
  const mask = Math.imul(2 ** Math.min(round, 8) - 1, 0x01010101) >>> 0;
  const keys = new Uint32Array(SORT_ITEMS);
  let state = round + 1;
  for (let i = 0; i < SORT_ITEMS; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    keys[i] = ((state >>> 7) & mask) >>> 0;
  }
  return keys;
}

function lockStepShape(up: Upsweep) {
  return {
    itemCount: SORT_ITEMS,
    writeIndices: true,
    // All knobs are set: those of a tuning made by hand in C++.
    tuning: {
      path: "automatic",
      workgroupSize: Math.min(256, up.traits.maxWorkgroupSize),
      itemsPerThread: 13,
      digitBits: 8,
      stageRounds: 1,
      useSubgroups: true,
      lockStep: true,
      lookBackLate: true,
      inOrder: false,
      pollRounds: 32,
      lookRecords: 4,
      maxWorkgroups: 1056,
      oneWorkgroupItems: 2048,
    },
  } as const;
}

/** Sets the trait `lockStep` if sorts that rank without barriers are right. */
export async function lockStepTest(up: Upsweep, report: ProbeReport): Promise<void> {
  let isRight = true;
  try {
    const plan = up.sort.plan(lockStepShape(up));
    for (let round = 0; round < 12 && isRight; ++round) {
      const keys = keysOfRound(round);
      const [indices] = (await up.runPlan(plan, { keys }, ["indices"])) as [ArrayBuffer];
      const wanted = Uint32Array.from(keys.keys()).sort((a, b) => (keys[a] as number) - (keys[b] as number) || a - b);
      isRight = isEqual(new Uint32Array(indices), wanted);
    }
  } catch (error) {
    report.selfTestError = messageOf(error);
    isRight = false;
  }
  up.overrideTraits({ ...up.traits, lockStep: isRight });
  report.lockStep = isRight;
}

/** Compiles the pipelines of the tests, all at the same time. */
export async function prepareTests(up: Upsweep, withLockStep: boolean): Promise<void> {
  const shape = { itemCount: MOST_TILES * TILE_ITEMS, input: "u32" as const, tuning: testedTuning(up) };
  const pipelines = [up.scan.prepare(shape), up.select.prepare({ ...shape, predicate: PREDICATE })];
  if (withLockStep) pipelines.push(up.sort.prepare(lockStepShape(up)));
  // What is refused here is met again, and reported, by the test that needs it.
  await Promise.allSettled(pipelines);
}
