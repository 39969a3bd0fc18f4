// SPDX-License-Identifier: Apache-2.0
// What a caller of the package meets: results, errors, reuse, and what is freed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { Worker } from "node:worker_threads";

import { openDevice, Upsweep, UpsweepError } from "../dist/index.js";
import { ROOMS } from "../dist/primitives.js";
import { NO_REPORT, selfTest } from "../dist/self_test.js";
import { gpu } from "./device.mjs";

const device = await openDevice(gpu);
const up = await Upsweep.create(device, { gpu });
const uncaptured = [];
device.onuncapturederror = (event) => uncaptured.push(event.error.message);

after(() => {
  assert.deepEqual(uncaptured, []);
  up.dispose();
  device.destroy();
});

function bufferOf(array, size = array.byteLength) {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const buffer = device.createBuffer({ size, usage });
  device.queue.writeBuffer(buffer, 0, array);
  return buffer;
}

async function read(buffer, Type) {
  const copy = device.createBuffer({ size: buffer.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await copy.mapAsync(GPUMapMode.READ);
  return new Type(copy.getMappedRange().slice(0));
}

const words = (count) => Uint32Array.from({ length: count }, (_, i) => Math.imul(i + 1, 2654435761) >>> 7);
const refused = (kind, pattern) => (error) => {
  assert.ok(error instanceof UpsweepError, String(error));
  assert.equal(error.kind, kind);
  assert.match(error.message, pattern);
  return true;
};

describe("arrays", () => {
  test("sort, pairs and argsort are stable", async () => {
    const keys = words(5000).map((word) => word % 100);
    const values = Uint32Array.from(keys.keys());
    const order = [...values].sort((a, b) => keys[a] - keys[b] || a - b);
    assert.deepEqual(await up.sort.run(keys), keys.slice().sort());
    assert.deepEqual([...(await up.sort.argsort(keys))], order);
    const pairs = await up.sort.runPairs(keys, values);
    assert.deepEqual([...pairs.values], order);
    const falling = await up.sort.run(new Float64Array([1, NaN, -2, 3]), { descending: true });
    assert.deepEqual(falling, new Float64Array([NaN, 3, 1, -2]));
  });

  test("reduce and scan", async () => {
    const items = words(1000).map((word) => word % 1000);
    const sum = items.reduce((a, b) => a + b);
    assert.equal(await up.reduce.run(items), sum);
    assert.equal(await up.reduce.run(items, { combine: "argmax" }), items.indexOf(Math.max(...items)));
    assert.equal(await up.reduce.run(new BigInt64Array([-5n, 7n, 1n << 40n])), (1n << 40n) + 2n);
    let before = 0;
    const wanted = items.map((item) => {
      before += item;
      return before - item;
    });
    assert.deepEqual(await up.scan.run(items, { kind: "exclusive" }), wanted);
    const rows = await up.reduce.runRows(items, { segments: { kind: "rows", count: 10, rowLength: 100 } });
    assert.equal(
      rows[9],
      items.slice(900).reduce((a, b) => a + b),
    );
  });

  test("what keeps some of the items", async () => {
    const items = Float32Array.from(words(3000), (word) => (word % 200) - 100);
    assert.deepEqual(
      await up.select.run(items, "x > 12.5"),
      items.filter((x) => x > 12.5),
    );
    const parts = await up.partition.run(items, "x < 0.0");
    assert.equal(parts.count, items.filter((x) => x < 0).length);
    assert.deepEqual(
      parts.items.slice(parts.count),
      items.filter((x) => x >= 0),
    );
    const sorted = items.slice().sort();
    assert.deepEqual(await up.unique.run(sorted), new Float32Array(new Set(sorted)));
    const top = await up.topK.run(items, 3, { largest: true });
    assert.deepEqual(top.keys, sorted.slice(-3).reverse());
    assert.ok(up.unique.plan({ itemCount: 3000, input: "f32" }).countsResults);
    assert.ok(!up.scan.plan({ itemCount: 3000, input: "f32" }).countsResults);
  });

  test("runs, histograms, differences", async () => {
    const items = new Uint32Array([4, 4, 4, 1, 1, 9]);
    assert.deepEqual(await up.runLength.run(items), {
      values: new Uint32Array([4, 1, 9]),
      lengths: new Uint32Array([3, 2, 1]),
    });
    const folded = await up.reduceByKey.run(items, new Float32Array([1, 2, 3, 4, 5, 6]), { combine: "max" });
    assert.deepEqual(folded, { keys: new Uint32Array([4, 1, 9]), values: new Float32Array([3, 5, 6]) });
    const bins = await up.histogram.run(new Uint8Array([0, 0, 7, 255]), { kind: "integers", count: 256 });
    assert.equal(bins[0], 2);
    assert.equal(
      bins.reduce((a, b) => a + b),
      4,
    );
    assert.deepEqual(await up.adjacentDifference.run(items), new Uint32Array([4, 0, 0, 2 ** 32 - 3, 0, 8]));
  });

  test("sorted arrays, and a sparse matrix", async () => {
    const items = new Float32Array([1, 2, 2, 5]);
    const queries = new Float32Array([2, 0, 9]);
    assert.deepEqual(await up.search.run(items, queries), new Uint32Array([1, 0, 4]));
    assert.deepEqual(await up.search.run(items, queries, { bound: "upper" }), new Uint32Array([3, 0, 4]));
    assert.deepEqual(await up.merge.run(items, queries.slice().sort()), new Float32Array([0, 1, 2, 2, 2, 5, 9]));
    assert.equal(await up.isSorted.run(items), true);
    assert.equal(await up.isSorted.run(items, "descending"), false);
    const order = { function: "far", wgsl: "fn far(a: f32, b: f32) -> bool { return abs(a) > abs(b); }" };
    const far = await up.mergeSort.run(new Float32Array([1, -7, 3]), order);
    assert.deepEqual(far, new Float32Array([-7, 3, 1]));
    const matrix = {
      columnCount: 2,
      rowOffsets: new Uint32Array([0, 1, 3]),
      columns: new Uint32Array([1, 0, 1]),
      values: new Float32Array([2, 3, 4]),
    };
    assert.deepEqual(await up.spmv.run(matrix, new Float32Array([10, 1])), new Float32Array([2, 34]));
  });

  test("arrays that do not fit are refused", async () => {
    const three = words(3);
    const floats = new Float32Array(2);
    for (const [call, pattern] of [
      [() => up.sort.run([3, 1, 2]), /A typed array is needed, .* not Array/],
      [() => up.reduce.run(undefined), /not undefined/],
      [() => up.histogram.run(undefined, { count: 3, lower: 0, upper: 1 }), /not undefined/],
      [() => up.mergeSort.run(null, undefined, "u32"), /not null/],
      [() => up.search.run(three, floats), /A Uint32Array and a Float32Array do not have items of one type/],
      [() => up.merge.run(three, floats), /A Uint32Array and a Float32Array do not have items of one type/],
      [() => up.scan.run(three, { segments: { kind: "keys", key: "u32" } }), /Argument keys has no array/],
      [
        () => up.scan.run(three, { segments: { kind: "flags" } }, { heads: words(2) }),
        /array of argument heads has 8 bytes; the plan takes 12/,
      ],
      [
        () => up.histogram.run(new Uint8Array(7), { kind: "integers", count: 256 }, { channels: 4 }),
        /7 bytes are not items of 4 samples of u8/,
      ],
    ]) {
      await assert.rejects(call, refused("invalid_request", pattern));
    }
  });

  test("nothing gives nothing", async () => {
    assert.deepEqual(await up.sort.run(new Float32Array(0)), new Float32Array(0));
    assert.equal(await up.reduce.run(new Uint32Array(0)), 0);
    assert.deepEqual(await up.select.run(new Uint32Array(0), "x > 1u"), new Uint32Array(0));
  });
});

describe("recording", () => {
  const shape = { itemCount: 3000, key: "u32" };

  test("goes into an encoder or an open pass, several times in one command buffer", async () => {
    const first = words(3000);
    const second = words(3000).reverse();
    const buffers = [first, second, first].map((keys) => ({
      keys: bufferOf(keys),
      sortedKeys: bufferOf(new Uint32Array(3000)),
    }));
    const encoder = device.createCommandEncoder();
    up.sort.record(encoder, { ...shape, buffers: buffers[0] });
    const pass = encoder.beginComputePass();
    up.sort.record(pass, { ...shape, buffers: buffers[1] });
    up.sort.record(pass, { ...shape, buffers: buffers[2] });
    pass.end();
    device.queue.submit([encoder.finish()]);
    for (const { sortedKeys } of buffers) assert.deepEqual(await read(sortedKeys, Uint32Array), first.slice().sort());
  });

  test("makes nothing new when repeated, and no pipeline after prepare", async () => {
    const buffers = { input: bufferOf(words(9000)), output: bufferOf(new Uint32Array(9000)) };
    const options = { itemCount: 9000, input: "u32", combine: "xor", buffers };
    await up.scan.prepare(options);
    const prepared = up.statistics.pipelines;
    const encoder = device.createCommandEncoder();
    up.scan.record(encoder, options);
    assert.equal(up.statistics.pipelines, prepared);
    const made = up.statistics;
    for (let i = 0; i < 5; ++i) up.scan.record(encoder, options);
    assert.deepEqual(up.statistics, made);
    device.queue.submit([encoder.finish()]);
  });

  test("keeps bind groups of large buffers while they are in use", async () => {
    const small = await Upsweep.create(device, { gpu, probe: false, keptBufferBytes: 200000 });
    const buffers = Array.from({ length: 12 }, () => bufferOf(words(16384)));
    const outputs = buffers.map(() => bufferOf(new Uint32Array(4096)));
    const scans = (i) => {
      const before = small.statistics.bindGroups;
      const encoder = device.createCommandEncoder();
      const shape = { itemCount: 4096, input: "u32", buffers: { input: buffers[i], output: outputs[i] } };
      small.scan.record(encoder, shape);
      device.queue.submit([encoder.finish()]);
      return small.statistics.bindGroups - before;
    };
    const taken = scans(0);
    assert.ok(taken > 0);
    for (const i of [1, 2, 3]) assert.equal(scans(i), taken);
    for (const i of [0, 1, 2, 3, 0, 1, 2, 3]) assert.equal(scans(i), 0, `${i}`);
    for (let i = 4; i < 12; ++i) assert.equal(scans(i), taken, `${i}`);
    assert.equal(scans(11), 0);
    assert.equal(scans(9), 0);
    for (const i of [0, 1, 2, 3]) assert.equal(scans(i), taken, `${i}`);
    small.dispose();
  });

  test("reads and writes ranges of one buffer", async () => {
    const items = words(1000);
    const buffer = bufferOf(items, 12000);
    const buffers = { input: buffer, output: { buffer, offset: 4096 + 12 }, count: { buffer, offset: 10240 } };
    const encoder = device.createCommandEncoder();
    up.select.record(encoder, { itemCount: 1000, input: "u32", predicate: "x % 2u == 0u", buffers });
    device.queue.submit([encoder.finish()]);
    const after = await read(buffer, Uint32Array);
    const even = items.filter((item) => item % 2 === 0);
    assert.equal(after[2560], even.length);
    assert.deepEqual(after.slice(1027, 1027 + even.length), even);
    assert.deepEqual(after.slice(0, 1000), items);
  });

  test("refuses what cannot be, before anything is recorded", () => {
    const keys = bufferOf(words(3000));
    const encoder = device.createCommandEncoder();
    const record = (options) => () => up.sort.record(encoder, options);
    const missing = { ...shape, buffers: { keys } };
    assert.throws(record(missing), refused("invalid_request", /Argument sortedKeys has no buffer/));
    const wrong = { ...shape, buffers: { keys, output: keys } };
    assert.throws(record(wrong), refused("invalid_request", /no buffer "output" in sort; there are keys, values/));
    const overlap = { ...shape, itemCount: 2000, buffers: { keys, sortedKeys: { buffer: keys, offset: 4000 } } };
    assert.throws(record(overlap), refused("invalid_request", /overlap in one buffer/));
    const meet = { ...shape, itemCount: 101, buffers: { keys, sortedKeys: { buffer: keys, offset: 404 } } };
    assert.throws(record(meet), refused("invalid_request", /meet in a \d+-byte block/));
    const small = { ...shape, itemCount: 4000, buffers: { keys, sortedKeys: keys } };
    assert.throws(record(small), refused("invalid_request", /has 12000 bytes; the plan needs 16000/));
    const field = { ...shape, descendig: true, buffers: { keys, sortedKeys: keys } };
    assert.throws(record(field), refused("invalid_request", /shape has no field "descendig"; there are itemCount/));
    const knob = { ...shape, tuning: { digitBits: 2.5 }, buffers: { keys, sortedKeys: keys } };
    assert.throws(record(knob), refused("invalid_request", /tuning.digitBits is no whole number from 0 to 4294967295/));
    const type = { ...shape, key: "f31", buffers: { keys, sortedKeys: keys } };
    assert.throws(record(type), refused("invalid_request", /no element type "f31"/));
    const large = { ...shape, itemCount: 2 ** 31, buffers: { keys, sortedKeys: keys } };
    assert.throws(record(large), UpsweepError);
    encoder.finish();
  });

  test("refuses in words what is no view, no target and no shape", () => {
    const keys = bufferOf(words(3000));
    const encoder = device.createCommandEncoder();
    const throws = (call, pattern) => assert.throws(call, refused("invalid_request", pattern));
    const record = (view, target = encoder) => {
      return () => up.sort.record(target, { ...shape, itemCount: 100, buffers: { keys: view, sortedKeys: keys } });
    };
    const neither = /Argument keys is neither a GPUBuffer nor/;
    for (const view of [words(100), { buffer: words(100) }, "keys", { buffer: undefined }])
      throws(record(view), neither);
    for (const offset of [-4, 1.5, Number.NaN, "4"])
      throws(record({ buffer: keys, offset }), /offset of argument keys/);
    for (const size of [-400, Number.NaN]) throws(record({ buffer: keys, size }), /size of argument keys/);
    const copied = device.createBuffer({ size: 400, usage: GPUBufferUsage.COPY_DST });
    throws(record(copied), /buffer of argument keys lacks the usage STORAGE/);
    for (const target of [null, {}, device, "encoder"])
      throws(record(keys, target), /neither an encoder nor a compute pass/);
    throws(() => up.sort.record(encoder), /sort is given no shape/);
    throws(() => up.sort.record(encoder, shape), /Argument keys has no buffer/);
    const buffers = { keys, sortedKeys: keys };
    throws(() => up.sort.record(encoder, { key: "u32", buffers }), /sort is told no itemCount/);
    throws(() => up.topK.record(encoder, { itemCount: 9, key: "u32", buffers: { keys } }), /top_k is told no k/);
    throws(() => up.sort.record(encoder, { ...shape, itemCount: 10n, buffers }), /itemCount is a bigint/);
    // Not a sum, which a shape without `combine` is.
    const larger = { itemCount: 9, input: "u32", combine: (a, b) => Math.max(a, b) };
    throws(() => up.reduce.plan(larger), /combine is a function, .* Operators and expressions are WGSL/);
    encoder.finish();
  });
});

describe("operators of the caller", () => {
  const broken = {
    combine: { function: "f", wgsl: "fn f(a: u32, b: u32) -> u32 {\n  return a + c;\n}", identity: "0u" },
    input: "u32",
  };

  test("errors name the operator and its line", async () => {
    const pattern =
      /Kernel reduce_tile was refused by the device:\s+operator "f":2: .*'c'[\s\S]*While preparing reduce/;
    await assert.rejects(up.reduce.run(words(10), broken), refused("invalid_request", pattern));
  });

  test("errors of texts that end in the middle, or take a name of the library, are the caller's", async () => {
    for (const [wgsl, pattern] of [
      [
        "fn f(a: u32, b: u32) -> u32 {\n  return a",
        /operator "f":2: brackets are opened and not closed, or the other way round/,
      ],
      [`${broken.combine.wgsl.replace("c", "b")}\nfn main() {}`, /"main" is declared twice; the operator, /],
    ]) {
      const combine = { ...broken.combine, wgsl };
      await assert.rejects(up.reduce.run(words(10), { ...broken, combine }), refused("invalid_request", pattern));
    }
  });

  test("errors of kernels that record meets first come later", async () => {
    const other = {
      ...broken,
      combine: { ...broken.combine, function: "g", wgsl: "fn g(a: u32, b: u32) -> u32 { return d; }" },
    };
    const buffers = { input: bufferOf(words(10)), output: bufferOf(new Uint32Array(1)) };
    const come = new Promise((resolve) => {
      up.onerror = resolve;
    });
    const encoder = device.createCommandEncoder();
    up.reduce.record(encoder, { itemCount: 10, ...other, buffers });
    const error = await come;
    up.onerror = undefined;
    assert.ok(refused("invalid_request", /operator "g":1: .*'d'/)(error));
    assert.throws(() => up.reduce.record(encoder, { itemCount: 10, ...other, buffers }), UpsweepError);
    // The encoder has been given an invalid pipeline: it is not submitted.
  });
});

describe("the device", () => {
  test("was probed", () => {
    const { probeReport, traits } = up;
    assert.ok(probeReport.ran && probeReport.workgroupAtomics && probeReport.integerDivision);
    assert.equal(probeReport.subgroupSize, probeReport.ballotWidth);
    assert.ok(traits.subgroups && traits.isCpu && !traits.lookBack);
  });

  test("passes the self-test, and one that looks back wrongly does not", async () => {
    const { traits } = up;
    const report = { ...NO_REPORT };
    await selfTest(up, report);
    assert.deepEqual([report.lookBack, report.selfTestError, up.traits.lookBack], [true, "", true]);
    assert.match(up.scan.explain({ itemCount: 2 ** 22, input: "u32" }), /scan_single_pass/);
    up.overrideTraits({ ...traits, testBrokenLookBack: true });
    await selfTest(up, report);
    assert.deepEqual([report.lookBack, up.traits.lookBack], [false, false]);
    assert.match(up.scan.explain({ itemCount: 2 ** 22, input: "u32" }), /scan_totals/);
    up.overrideTraits(traits);
  });

  test("is the caller's, and stays so", async () => {
    {
      using other = await Upsweep.create(device, { gpu, probe: false });
      assert.equal(await other.reduce.run(new Uint32Array([1, 2])), 3);
    }
    assert.equal(await up.reduce.run(new Uint32Array([3, 4])), 7);
    const own = await Upsweep.create(undefined, { gpu, probe: false });
    assert.notEqual(own.device, device);
    own.dispose();
    assert.equal((await own.device.lost).reason, "destroyed");
    await assert.rejects(own.sort.run(words(3)), refused("invalid_request", /has been disposed of/));
  });

  test("gives no buffer: arrays do not come back as zeros", async () => {
    device.createBuffer = (wanted) => {
      const size = wanted.label === "upsweep.keys" ? 2 ** 50 : wanted.size;
      return GPUDevice.prototype.createBuffer.call(device, { ...wanted, size });
    };
    try {
      await assert.rejects(up.sort.run(words(1000)), refused("device", /^Running sort failed: .*1125899906842624/));
    } finally {
      delete device.createBuffer;
    }
    assert.deepEqual(await up.sort.run(words(1000)), words(1000).sort());
  });

  test("has no memory for scratch: the next call asks again", async () => {
    using own = await Upsweep.create(device, { gpu, probe: false });
    const keys = () => device.createBuffer({ size: 400_000, usage: GPUBufferUsage.STORAGE });
    let asked = 0;
    device.createBuffer = (wanted) => {
      if (wanted.label === "upsweep.scratch") ++asked;
      const size = wanted.label === "upsweep.scratch" ? 2 ** 50 : wanted.size;
      return GPUDevice.prototype.createBuffer.call(device, { ...wanted, size });
    };
    try {
      await assert.rejects(own.sort.run(words(100_000)), refused("device", /^Running sort failed: .*1125899906842624/));
      const encoder = device.createCommandEncoder();
      device.pushErrorScope("validation");
      own.sort.record(encoder, { key: "u32", itemCount: 100_000, buffers: { keys: keys(), sortedKeys: keys() } });
      assert.notEqual(await device.popErrorScope(), null);
    } finally {
      delete device.createBuffer;
    }
    assert.ok(asked >= 2);
    own.releaseScratch();
    assert.equal(own.statistics.scratchBytes, 0);
    assert.deepEqual(await own.sort.run(words(100_000)), words(100_000).sort());
    assert.ok(own.statistics.scratchBytes > 0);
  });

  test("is no device, or is lost: said in words", async () => {
    const none = refused("invalid_request", /given something else than a GPUDevice/);
    for (const wrong of [{}, await gpu.requestAdapter()]) await assert.rejects(Upsweep.create(wrong, { gpu }), none);
    const other = await Upsweep.create(null, { gpu, probe: false });
    const running = other.sort.run(words(100_000));
    other.device.destroy();
    const lost = refused("device", /^Running sort failed: the device was lost \([^.]+\)\.$/);
    await assert.rejects(running, lost);
    await assert.rejects(other.sort.run(words(3)), lost);
    other.dispose();
  });
});

describe("the planners", () => {
  test("run in a worker", async () => {
    const worker = new Worker(new URL("./plan_worker.mjs", import.meta.url));
    const text = await new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    assert.equal(text, up.planner.explain({ primitive: "sort", shape: { itemCount: 10 }, traits: {} }));
    assert.match(text, /^plan sort: 1 pass,/);
  });

  describe("have what the types name", () => {
    const source = ["shapes", "traits"]
      .map((file) => readFileSync(new URL(`../src/${file}.ts`, import.meta.url), "utf8"))
      .join("\n");
    const bodyOf = (name) => {
      const body = new RegExp(`export interface ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(source)?.[1];
      assert.ok(body !== undefined, name);
      return body;
    };
    const fieldsOf = (name) => [...bodyOf(name).matchAll(/^ {2}(\w+)\??:/gm)].map((match) => match[1]);
    // Of all objects in a type that is written in place.
    const fieldsIn = (type) => [...new Set([...type.matchAll(/[{;] (\w+)\??:/g)].map((match) => match[1]))];
    const unionOf = (name) => new RegExp(`export type ${name} =([\\s\\S]*?);\\n(?=export|/|\\n)`).exec(source)[1];
    const refusal = (options, pattern) => {
      let message = "";
      try {
        up.planner.plan({ traits: up.traits, ...options });
      } catch (error) {
        message = error.message;
      }
      const list = pattern.exec(message)?.[1];
      assert.ok(list !== undefined, `${JSON.stringify(options)}: ${message}`);
      return list.split(", ");
    };
    const known = (options) => refusal(options, /there are (.*)\.$/);
    const snake = (name) => name.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
    const names = ["Reduce", "Scan", "Select", "Partition", "Unique", "RunLength", "ReduceByKey", "AdjacentDifference"];
    names.push("Histogram", "Sort", "TopK", "Search", "Merge", "MergeSort", "IsSorted", "Spmv");
    const withTuning = ["Reduce", "Histogram", "Sort", "TopK", "Search", "Merge", "MergeSort", "Spmv"];
    const tuningOf = (name) => `${withTuning.includes(name) ? name : "Scan"}Tuning`;

    test("shapes and tunings", () => {
      for (const name of names) {
        const primitive = snake(name);
        assert.deepEqual(fieldsOf(`${name}Shape`), known({ primitive, shape: { nope: 1 } }), name);
        if (name === "IsSorted") continue;
        assert.deepEqual(fieldsOf(tuningOf(name)), known({ primitive, tuning: { nope: 1 } }), name);
      }
    });

    test("parts of shapes, and traits", () => {
      const nope = { nope: 1 };
      for (const [fields, options] of [
        [fieldsOf("ScanSegments"), { primitive: "scan", shape: { segments: nope } }],
        [fieldsOf("SparseShape"), { primitive: "spmv", shape: { matrix: nope } }],
        [fieldsOf("KeyField"), { primitive: "sort", shape: { keyFields: [nope] } }],
        [fieldsOf("StructType"), { primitive: "scan", shape: { input: nope } }],
        [fieldsOf("CustomOperator"), { primitive: "scan", shape: { combine: nope } }],
        [fieldsIn(unionOf("HistogramBins")), { primitive: "histogram", shape: { bins: nope } }],
        [fieldsIn(unionOf("Transform")), { primitive: "scan", shape: { transform: nope } }],
        [fieldsIn(unionOf("Equality")), { primitive: "unique", shape: { equality: nope } }],
        [fieldsIn(unionOf("Predicate")), { primitive: "select", shape: { predicate: nope } }],
        [fieldsIn(unionOf("KeyOrder")), { primitive: "search", shape: { order: nope } }],
        [
          fieldsIn(/segments\?: (\{.*\});/.exec(bodyOf("ReduceShape"))[1]),
          { primitive: "reduce", shape: { segments: nope } },
        ],
        [fieldsOf("DeviceTraits"), { primitive: "reduce", traits: nope }],
      ]) {
        assert.ok(fields.length > 1);
        assert.deepEqual(fields.toSorted(), known(options).toSorted(), JSON.stringify(options));
      }
    });

    test("names of choices", () => {
      const choice = /^ {2}(\w+)\??: ("\w+"(?: \| "\w+")*);/gm;
      let count = 0;
      const check = (type, optionsWith) => {
        for (const [, field, list] of bodyOf(type).matchAll(choice)) {
          const names = [...list.matchAll(/"(\w+)"/g)].map((match) => match[1]);
          assert.deepEqual(names, refusal(optionsWith({ [field]: "nope" }), /is none of (.*)\.$/), `${type}.${field}`);
          ++count;
        }
      };
      for (const name of names) {
        const primitive = snake(name);
        check(`${name}Shape`, (shape) => ({ primitive, shape }));
        if (name !== "IsSorted") check(tuningOf(name), (tuning) => ({ primitive, tuning }));
      }
      check("ScanSegments", (segments) => ({ primitive: "scan", shape: { segments } }));
      check("SparseShape", (matrix) => ({ primitive: "spmv", shape: { matrix } }));
      assert.ok(count > 15, String(count));
    });

    test("buffers", () => {
      for (const [name, { buffers }] of Object.entries(ROOMS)) {
        const type = `${name[0].toUpperCase()}${name.slice(1)}Buffers`;
        assert.deepEqual(fieldsOf(type).toSorted(), buffers.toSorted(), type);
      }
      assert.equal(Object.keys(ROOMS).length, names.length + 1);
    });
  });
});
