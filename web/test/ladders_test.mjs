// SPDX-License-Identifier: Apache-2.0
// The engine of the page's ladders in Node: every step gives what the C++ says it must give.
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";

import { openDevice } from "../dist/index.js";
import { gpu } from "./device.mjs";
import { FAMILIES, mistakesOf, unsupportedSteps } from "./ladder_checks.mjs";
import { compileLadders } from "./ladders.mjs";

// openLadders looks for language features there.
Object.defineProperty(globalThis, "navigator", { value: { gpu }, configurable: true });

const compiled = compileLadders();
const { openLadders, mostItems } = await import(compiled.engine);
const { LadderCalls } = await import(new URL("ladders_calls.js", compiled.engine));
const { compileModule } = await import(new URL("../../src/wasm.js", compiled.engine));
const device = await openDevice(gpu);
const uncaptured = [];
device.onuncapturederror = (event) => uncaptured.push(event.error.message);
const ladders = await openLadders(device);
after(() => {
  ladders.dispose();
  device.destroy();
  compiled.remove();
});

test("only threads of the CPU are not to be had", () => {
  const [only, ...others] = unsupportedSteps(ladders);
  assert.match(only, /^sort\.cpu_threads: .*one thread/);
  assert.deepEqual(others, []);
});

test("steps of the device show their kernels, with comments", () => {
  for (const family of FAMILIES) {
    const steps = ladders.steps(family);
    assert.equal(steps.at(-1).id, "library");
    assert.equal(new Set(steps.map((step) => step.id)).size, steps.length);
    for (const { id, name, wgsl } of steps) {
      assert.notEqual(name, "");
      assert.equal(wgsl.length === 0, id.startsWith("cpu"), id);
      for (const text of wgsl) assert.match(text, /@compute[\s\S]*\/\/|\/\/[\s\S]*@compute/, id);
    }
  }
});

describe("every step is right", () => {
  for (const family of FAMILIES) {
    for (const items of [4096, 1, 10007]) {
      test(`${family} of ${items}`, async () => {
        assert.deepEqual(await mistakesOf(ladders, family, items), []);
        assert.deepEqual(uncaptured, []);
      });
    }
  }
});

test("a wrong result is seen", async () => {
  const calls = new LadderCalls(await compileModule(new URL("../page/wasm/ladders.wasm", import.meta.url)));
  for (const family of FAMILIES) {
    const { outputBytes } = calls.call({ call: "size", family, items: 1000 });
    const isRight = (words) => {
      calls.call({ call: "begin_check", family });
      calls.call({ call: "check", family, words });
      return calls.call({ call: "end_check", family }).correct;
    };
    assert.equal(isRight(new Uint8Array(outputBytes)), false, family);
    assert.equal(isRight(new Uint8Array(outputBytes).fill(0xde)), false, family);
    // The same check passes what the CPU has.
    calls.call({ call: "run_cpu", family, repeats: 1 });
    assert.equal(calls.call({ call: "check_cpu", family }).correct, true, family);
  }
});

test("stops when asked, and runs again", async () => {
  const controller = new AbortController();
  const seen = [];
  const run = ladders.run("reduce", {
    items: 10000,
    signal: controller.signal,
    onResult: (result) => {
      seen.push(result.stepId);
      controller.abort(new Error("enough"));
    },
  });
  await assert.rejects(ladders.run("scan", { items: 1, onResult: () => {} }), /A ladder is running/);
  await assert.rejects(run, /enough/);
  assert.deepEqual(seen, ["cpu"]);
  assert.deepEqual(await mistakesOf(ladders, "histogram", 100), []);
});

test("refuses sizes that the device has no room for", async () => {
  for (const items of [0, 1.5, mostItems(device, "sort") + 1]) {
    await assert.rejects(
      ladders.run("sort", { items, onResult: () => {} }),
      /The ladder of sort takes 1 to \d+ items here/,
    );
  }
});

test("times by the clock of the page where there are no timestamps", async () => {
  const adapter = await gpu.requestAdapter();
  const plain = await adapter.requestDevice();
  assert.equal(plain.features.has("timestamp-query"), false);
  const others = await openLadders(plain);
  assert.deepEqual(await mistakesOf(others, "reduce", 10007), []);
  // Nor are there subgroups.
  assert.deepEqual(
    unsupportedSteps(others).map((step) => step.split(":")[0]),
    ["reduce.subgroups", "scan.subgroups", "scan.subgroup_vectors", "sort.cpu_threads", "sort.ballots"],
  );
  others.dispose();
  plain.destroy();
});

test("ends a run when it is closed, and when the device is lost", async () => {
  for (const [end, wanted] of [
    [(opened) => opened.dispose(), /The ladders are closed/],
    [(_, lost) => lost.destroy(), /The device was lost/],
  ]) {
    const lost = await openDevice(gpu);
    const opened = await openLadders(lost);
    const run = opened.run("scan", {
      items: 10007,
      onResult: (result) => result.stepId === "cpu" && end(opened, lost),
    });
    await assert.rejects(run, wanted);
    await assert.rejects(opened.run("scan", { items: 1, onResult: () => {} }), wanted);
    lost.destroy();
  }
});
