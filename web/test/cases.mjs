// SPDX-License-Identifier: Apache-2.0
// The table of the conformance test: shapes with inputs, run by the library in C++ (conformance/conformance.cpp) and
// through the executor in JavaScript, in Node and in a browser. Results are the same bit for bit, and so is every byte
// around them. Sums of floats are of whole numbers, so that no order of additions changes them.

const GUARD_BYTES = 64;
const POISON = 0xa5;

/** Repeatable words. */
function* words(seed) {
  let state = seed;
  for (;;) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    yield state >>> 0;
  }
}

function made(Type, count, map, seed = 1) {
  const from = words(seed);
  return Type.from({ length: count }, (_, i) => map(from.next().value, i));
}

const u32 = (count, most = 2 ** 32, seed = 1) => made(Uint32Array, count, (word) => word % most, seed);
const i32 = (count, seed = 2) => made(Int32Array, count, (word) => word | 0, seed);
const wholeF32 = (count, most = 64, seed = 3) => made(Float32Array, count, (word) => (word % most) - most / 2, seed);
const f32 = (count, seed = 4) => made(Float32Array, count, (word) => (word / 2 ** 32 - 0.5) * 1e6, seed);
const u64 = (count, seed = 5) => made(BigUint64Array, count, (word, i) => (BigInt(word) << 32n) | BigInt(i % 7), seed);
const sorted = (array) => array.sort();

/** Any bits, with all kinds of NaN, infinities, zeros and subnormals among them. */
function anyF32(count) {
  const special = [0x7fc00000, 0xffc00001, 0x7f800000, 0xff800000, 0, 0x80000000, 1, 0x80000001];
  const bits = made(Uint32Array, count, (word, i) => (i % 5 === 0 ? special[word % special.length] : word), 6);
  return new Float32Array(bits.buffer);
}

function anyF64(count) {
  const special = [NaN, Infinity, -Infinity, 0, -0, 5e-324];
  return made(Float64Array, count, (word, i) => (i % 5 === 0 ? special[word % 6] : word / 7 - 3e8), 7);
}

const halves = (count) => made(Uint16Array, count, (word) => word & 0xffff, 8);
const bytes = (count) => made(Uint8Array, count, (word) => word & 0xff, 9);
/** Runs of equal words. */
const runs = (count) => made(Uint32Array, count, (_, i) => Math.floor(Math.sqrt(i)) % 17, 10);

const MIN_MAX = {
  type: {
    name: "MinMax",
    wgsl: "struct MinMax { low: f32, high: f32 }",
    sizeBytes: 8,
    strideBytes: 8,
  },
  combine: {
    function: "widen",
    wgsl: "fn widen(a: MinMax, b: MinMax) -> MinMax { return MinMax(min(a.low, b.low), max(a.high, b.high)); }",
    identity: "MinMax(3.0e38, -3.0e38)",
    commutative: true,
  },
};
/** The product of two matrices does not commute. */
const AFFINE = {
  function: "after",
  wgsl: "fn after(a: vec2u, b: vec2u) -> vec2u { return vec2u(a.x * b.x, a.y * b.x + b.y); }",
  identity: "vec2u(1u, 0u)",
};
const WORDS3 = { name: "Words3", wgsl: "struct Words3 { w: array<u32, 3> }", sizeBytes: 12, strideBytes: 12 };

/** 5 rows of 4 columns. */
const CSR = {
  rowOffsets: new Uint32Array([0, 2, 2, 5, 6, 7]),
  columns: new Uint32Array([0, 3, 1, 2, 0, 3, 2]),
  values: new Float32Array([1, 2, -3, 4, 5, 0.5, 8]),
};

function laplacian(size) {
  const rowOffsets = [0];
  const columns = [];
  const values = [];
  for (let row = 0; row < size; ++row) {
    for (const [column, value] of [
      [row - 1, -1],
      [row, 2],
      [row + 1, -1],
    ]) {
      if (column < 0 || column >= size) continue;
      columns.push(column);
      values.push(value);
    }
    rowOffsets.push(columns.length);
  }
  return {
    rowOffsets: new Uint32Array(rowOffsets),
    columns: new Uint32Array(columns),
    values: new Float32Array(values),
  };
}

/**
 * Every case: a primitive, its shape, the inputs by name; `offsets` of views in bytes (0 if not given); the `profile`
 * of device traits; how often it is recorded; `quick`: for the browser, too, where compiling takes longer.
 */
export function conformanceCases() {
  const line = laplacian(3000);
  const list = [
    {
      name: "reduce: sum of u32",
      room: "reduce",
      shape: { itemCount: 100000, input: "u32" },
      inputs: { input: u32(100000) },
      quick: true,
    },
    {
      name: "reduce: sum of whole f32 with init, at an offset",
      room: "reduce",
      shape: { itemCount: 9999, init: 1000 },
      inputs: { input: wholeF32(9999) },
      offsets: { input: 12, output: 8 },
    },
    {
      name: "reduce: min of f32 with NaN",
      room: "reduce",
      shape: { itemCount: 5000, combine: "min" },
      inputs: { input: anyF32(5000) },
    },
    {
      name: "reduce: argmax of i32",
      room: "reduce",
      shape: { itemCount: 70001, input: "i32", combine: "argmax" },
      inputs: { input: i32(70001) },
      quick: true,
    },
    {
      name: "reduce: struct with its own operator",
      room: "reduce",
      shape: { itemCount: 3001, input: MIN_MAX.type, combine: MIN_MAX.combine },
      inputs: { input: f32(6002) },
      quick: true,
    },
    {
      name: "reduce: operator that does not commute",
      room: "reduce",
      shape: { itemCount: 50000, input: "vec2u", combine: AFFINE },
      inputs: { input: u32(100000) },
      profile: "no_subgroups",
    },
    {
      name: "reduce: dot product of whole f32",
      room: "reduce",
      shape: { itemCount: 4097, secondInput: "f32", transform: "x * y" },
      inputs: { input: wholeF32(4097), secondInput: wholeF32(4097, 32, 9) },
    },
    {
      name: "reduce: rows",
      room: "reduce",
      shape: { input: "u32", segments: { kind: "rows", count: 300, rowLength: 77 } },
      inputs: { input: u32(300 * 77) },
    },
    {
      name: "reduce: nothing",
      room: "reduce",
      shape: { itemCount: 0, combine: "min" },
      inputs: { input: new Float32Array(4) },
    },
    {
      name: "reduce: count on the device",
      room: "reduce",
      shape: { itemCount: { max: 20000 }, input: "u32" },
      inputs: { input: u32(20000), itemCount: new Uint32Array([12345]) },
      quick: true,
    },

    {
      name: "scan: inclusive u32",
      room: "scan",
      shape: { itemCount: 100003, input: "u32" },
      inputs: { input: u32(100003) },
      repeat: 2,
      quick: true,
    },
    {
      name: "scan: exclusive whole f32 with init and total",
      room: "scan",
      shape: { itemCount: 20000, kind: "exclusive", init: 5, writeTotal: true },
      inputs: { input: wholeF32(20000) },
      offsets: { input: 4, output: 8 },
    },
    {
      name: "scan: look-back",
      room: "scan",
      shape: { itemCount: 300000, input: "u32" },
      inputs: { input: u32(300000) },
      profile: "look_back",
      tuning: { path: "single_pass" },
      repeat: 2,
      quick: true,
    },
    {
      name: "scan: in place",
      room: "scan",
      shape: { itemCount: 30000, input: "u32", inPlace: true },
      inputs: { output: u32(30000) },
    },
    {
      name: "scan: maxima of f32 from the end",
      room: "scan",
      shape: { itemCount: 5003, combine: "max", reverse: true },
      inputs: { input: anyF32(5003) },
    },
    {
      name: "scan: operator that does not commute",
      room: "scan",
      shape: { itemCount: 40000, input: "vec2u", combine: AFFINE },
      inputs: { input: u32(80000) },
      quick: true,
    },
    {
      name: "scan: by flags",
      room: "scan",
      shape: { itemCount: 20011, input: "u32", segments: { kind: "flags", format: "bits" } },
      inputs: { input: u32(20011), heads: u32(626) },
    },
    {
      name: "scan: by key",
      room: "scan",
      shape: { itemCount: 20011, input: "u32", segments: { kind: "keys", key: "u32" } },
      inputs: { input: u32(20011), keys: runs(20011) },
      profile: "minimum_limits",
    },
    { name: "scan: u64", room: "scan", shape: { itemCount: 10007, input: "u64" }, inputs: { input: u64(10007) } },

    {
      name: "select: expression, items and indices",
      room: "select",
      shape: { itemCount: 60000, predicate: "x > 0.0", writeIndices: true },
      inputs: { input: f32(60000) },
      quick: true,
    },
    {
      name: "select: flags, and the grid of what follows",
      room: "select",
      shape: { itemCount: 9000, input: "u32", predicate: { flags: "bytes" }, dispatchThreads: 64 },
      inputs: { input: u32(9000), flags: made(Uint8Array, 9000, (word) => word & 1) },
    },
    {
      name: "select: look-back",
      room: "select",
      shape: { itemCount: 200000, input: "u32", predicate: "x % 3u != 1u" },
      inputs: { input: u32(200000) },
      profile: "look_back",
      tuning: { path: "single_pass" },
    },
    {
      name: "partition: three parts",
      room: "partition",
      shape: { itemCount: 30001, input: "i32", first: "x < 0", second: "x % 2 == 0" },
      inputs: { input: i32(30001) },
    },
    {
      name: "unique: f32",
      room: "unique",
      shape: { itemCount: 20000, writeIndices: true },
      inputs: { input: made(Float32Array, 20000, (word) => word % 3) },
    },
    {
      name: "run_length: u32",
      room: "runLength",
      shape: { itemCount: 20000, writeOffsets: true },
      inputs: { input: runs(20000) },
      quick: true,
    },
    {
      name: "reduce_by_key: whole f32",
      room: "reduceByKey",
      shape: { itemCount: 20000 },
      inputs: { keys: runs(20000), input: wholeF32(20000) },
      quick: true,
    },
    {
      name: "adjacent_difference: i32",
      room: "adjacentDifference",
      shape: { itemCount: 10001, input: "i32" },
      inputs: { input: i32(10001) },
    },

    {
      name: "histogram: even bins of f32",
      room: "histogram",
      shape: { itemCount: 50000, bins: { count: 256, lower: -5e5, upper: 5e5 } },
      inputs: { input: f32(50000) },
      quick: true,
    },
    {
      name: "histogram: edges",
      room: "histogram",
      shape: { itemCount: 20000, bins: { kind: "edges", edges: [-1e5, -3.5, 0, 1, 7.25, 4e5] } },
      inputs: { input: f32(20000) },
    },
    {
      name: "histogram: channels of bytes",
      room: "histogram",
      shape: { itemCount: 9001, sample: "u8", channels: 4, channelMask: 7, bins: { kind: "integers", count: 256 } },
      inputs: { input: bytes(36004) },
      offsets: { input: 4 },
    },
    {
      name: "histogram: weights of f32",
      room: "histogram",
      shape: { itemCount: 9001, sample: "u32", weights: "floats", bins: { kind: "integers", count: 32 } },
      inputs: { input: u32(9001, 32), weights: f32(9001) },
    },
    {
      name: "histogram: many bins",
      room: "histogram",
      shape: { itemCount: 30000, sample: "u32", bins: { kind: "integers", count: 100000 } },
      inputs: { input: u32(30000, 120000) },
      profile: "minimum_limits",
    },

    {
      name: "sort: u32",
      room: "sort",
      shape: { itemCount: 60000 },
      inputs: { keys: u32(60000) },
      repeat: 2,
      quick: true,
    },
    {
      name: "sort: f32 with values, descending",
      room: "sort",
      shape: { itemCount: 30000, key: "f32", value: "u32", descending: true },
      inputs: { keys: anyF32(30000), values: u32(30000) },
      offsets: { keys: 4, values: 8, sortedKeys: 12, sortedValues: 16 },
      quick: true,
    },
    {
      name: "sort: argsort of f64",
      room: "sort",
      shape: { itemCount: 5001, key: "u64", keyIsF64: true, writeKeys: false, writeIndices: true },
      inputs: { keys: anyF64(5001) },
    },
    {
      name: "sort: f16 with structs",
      room: "sort",
      shape: { itemCount: 6001, key: "f16", value: WORDS3 },
      inputs: { keys: halves(6001), values: u32(18003) },
    },
    {
      name: "sort: i32 in place, some bits",
      room: "sort",
      shape: { itemCount: 20000, key: "i32", beginBit: 3, endBit: 19, inPlace: true },
      inputs: { sortedKeys: i32(20000) },
    },
    {
      name: "sort: look-back",
      room: "sort",
      shape: { itemCount: 100000, value: "u32" },
      inputs: { keys: u32(100000, 1000), values: u32(100000) },
      profile: "look_back",
      tuning: { path: "single_pass" },
      quick: true,
    },
    {
      name: "sort: segments",
      room: "sort",
      shape: { itemCount: 12000, segmentCount: 4 },
      inputs: {
        keys: u32(12000),
        segmentBegins: new Uint32Array([0, 10, 10, 7000]),
        segmentEnds: new Uint32Array([10, 10, 7000, 12000]),
      },
    },
    {
      name: "sort: fields of structs",
      room: "sort",
      shape: {
        itemCount: 3000,
        key: WORDS3,
        keyFields: [{ offsetBytes: 4, type: "i32", descending: true }, { offsetBytes: 0 }],
      },
      inputs: { keys: u32(9000, 16) },
    },
    {
      name: "sort: count on the device",
      room: "sort",
      shape: { itemCount: { max: 20000 } },
      inputs: { keys: u32(20000), itemCount: new Uint32Array([7777]) },
    },

    {
      name: "top_k: largest f32",
      room: "topK",
      shape: { itemCount: 50000, k: 100, key: "f32", largest: true, writeIndices: true, writeThreshold: true },
      inputs: { keys: anyF32(50000) },
    },
    {
      name: "search: upper bound",
      room: "search",
      shape: { itemCount: 10000, queryCount: 3000, bound: "upper" },
      inputs: { items: sorted(u32(10000, 5000)), queries: u32(3000, 5500) },
      quick: true,
    },
    {
      name: "merge: u32 with values",
      room: "merge",
      shape: { leftCount: 7000, rightCount: 5001, value: "u32" },
      inputs: {
        leftKeys: sorted(u32(7000, 3000)),
        rightKeys: sorted(u32(5001, 3000)),
        leftValues: u32(7000),
        rightValues: u32(5001),
      },
    },
    {
      name: "merge_sort: an order of its own",
      room: "mergeSort",
      shape: {
        itemCount: 9000,
        order: {
          function: "by_low_byte",
          wgsl: "fn by_low_byte(a: u32, b: u32) -> bool { return (a & 255u) < (b & 255u); }",
        },
        writeIndices: true,
      },
      inputs: { keys: u32(9000) },
      quick: true,
    },
    {
      name: "is_sorted: how far",
      room: "isSorted",
      shape: { itemCount: 40000, writeLeadingCount: true },
      inputs: { input: u32(40000).map((word, i) => (i < 30000 ? i : word)) },
    },
    {
      name: "spmv: csr by rows",
      room: "spmv",
      shape: { matrix: { rowCount: 5, columnCount: 4, entryCount: 7 }, alpha: 2, beta: 1 },
      inputs: { ...CSR, x: new Float32Array([1, 2, 3, 4]), y: new Float32Array([1, 1, 1, 1, 1]) },
    },
    {
      name: "spmv: csr by merge path",
      room: "spmv",
      shape: { matrix: { rowCount: 3000, columnCount: 3000, entryCount: line.columns.length } },
      tuning: { path: "merge" },
      inputs: { ...line, x: wholeF32(3000) },
      quick: true,
    },
    {
      name: "spmv_tiles: what merge path prepares",
      room: "spmvTiles",
      shape: { matrix: { rowCount: 3000, columnCount: 3000, entryCount: line.columns.length } },
      tuning: { path: "merge" },
      inputs: { rowOffsets: line.rowOffsets },
      quick: true,
    },
  ];
  return list.map((one) => ({ profile: "full", repeat: 1, offsets: {}, quick: false, ...one }));
}

/** The traits of a device under a profile; conformance.cpp has the same. */
export function traitsOf(traits, profile) {
  switch (profile) {
    case "no_subgroups":
      return {
        ...traits,
        subgroups: false,
        subgroupMinSize: 0,
        subgroupMaxSize: 0,
        subgroupIdBuiltin: false,
        subgroupIdsFollowIndex: false,
      };
    case "minimum_limits":
      return {
        ...traits,
        maxWorkgroupSize: 256,
        maxWorkgroupBytes: 16384,
        maxWorkgroupsPerDimension: 65535,
        maxStorageBuffers: 8,
        maxBindingBytes: 2 ** 27,
        maxBufferBytes: 2 ** 28,
        offsetAlignment: 256,
      };
    case "look_back":
      return { ...traits, lookBack: true };
    default:
      return traits;
  }
}

export class Hash {
  #first = 0x811c9dc5;
  #second = 0;

  add(bytes) {
    for (const byte of bytes) {
      this.#first = Math.imul(this.#first ^ byte, 0x01000193);
      this.#second = Math.imul(this.#second + byte + 1, 0x9e3779b1);
      this.#second ^= this.#second >>> 15;
    }
  }
  text() {
    return [this.#first, this.#second].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
  }
}

function bytesOf(array) {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Runs a case through the public API and hashes all its buffers, guards and all. */
export async function runCase(up, one) {
  const { device } = up;
  const before = up.traits;
  const owned = [];
  up.overrideTraits(traitsOf(before, one.profile));
  try {
    const options = { ...one.shape, tuning: one.tuning };
    // Which buffers there are depends on the shape alone.
    const { arguments: slots } = up[one.room].plan(options);
    const buffers = {};
    const all = slots.map((slot) => {
      const input = one.inputs[slot.name];
      const offset = one.offsets[slot.name] ?? 0;
      const size = Math.ceil((offset + Math.max(slot.sizeBytes, input?.byteLength ?? 0)) / 4) * 4 + GUARD_BYTES;
      const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
      const buffer = device.createBuffer({ size, usage, mappedAtCreation: true });
      const bytes = new Uint8Array(buffer.getMappedRange());
      bytes.fill(POISON);
      if (input !== undefined) bytes.set(bytesOf(input), offset);
      buffer.unmap();
      owned.push(buffer);
      buffers[slot.name] = { buffer, offset };
      return buffer;
    });
    await up[one.room].prepare({ ...options, buffers });
    const encoder = device.createCommandEncoder();
    for (let i = 0; i < one.repeat; ++i) up[one.room].record(encoder, { ...options, buffers });
    const copies = all.map((buffer) => {
      const copy = device.createBuffer({ size: buffer.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
      owned.push(copy);
      encoder.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size);
      return copy;
    });
    device.queue.submit([encoder.finish()]);
    await Promise.all(copies.map((copy) => copy.mapAsync(GPUMapMode.READ)));
    const hash = new Hash();
    for (const copy of copies) hash.add(new Uint8Array(copy.getMappedRange()));
    return { hash: hash.text(), plan: up[one.room].explain({ ...options, buffers }) };
  } finally {
    up.overrideTraits(before);
    up.releaseBindings();
    for (const buffer of owned) buffer.destroy();
  }
}
