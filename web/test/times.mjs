// SPDX-License-Identifier: Apache-2.0
// Device times of the package in Node, to be compared with those of `upsweep bench` on the same device. No test: software
// devices have no times worth comparing.
// usage: node times.mjs [ITEMS]     default 2^24; prints microseconds of one operation among many dependent ones in a pass
import { create, globals } from "webgpu";
import { openDevice, Upsweep } from "../dist/index.js";

const SAMPLES = 15;
const WARM_UP_MS = 500;
const SAMPLE_MS = 10;

Object.assign(globalThis, globals);
// Timestamps as they are: browsers round them to 0.1 ms or so.
const gpu = create(["disable-dawn-features=timestamp_quantization"]);

const items = Number(process.argv[2] ?? 2 ** 24);
const device = await openDevice(gpu);
const up = await Upsweep.create(device, { gpu });
if (!device.features.has("timestamp-query")) throw new Error("the device has no timestamps");

const querySet = device.createQuerySet({ type: "timestamp", count: 2 });
const resolved = device.createBuffer({ size: 16, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
const readable = device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });

/**
 * Milliseconds on the device of `repeats` operations in one compute pass. As many run right before them: GPUs that wait
 * lower their clocks.
 */
async function time(record, repeats) {
  const encoder = device.createCommandEncoder();
  const timestampWrites = { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
  for (const descriptor of [{}, { timestampWrites }]) {
    const pass = encoder.beginComputePass(descriptor);
    for (let i = 0; i < repeats; i++) record(pass);
    pass.end();
  }
  encoder.resolveQuerySet(querySet, 0, 2, resolved, 0);
  encoder.copyBufferToBuffer(resolved, 0, readable, 0, 16);
  device.queue.submit([encoder.finish()]);
  await readable.mapAsync(GPUMapMode.READ);
  const [begin, end] = new BigUint64Array(readable.getMappedRange().slice(0));
  readable.unmap();
  return Number(end - begin) / 1e6;
}

async function median(record) {
  const end = performance.now() + WARM_UP_MS;
  let repeats = 4;
  while (performance.now() < end) {
    const ms = await time(record, repeats);
    repeats = Math.max(1, Math.ceil((repeats * SAMPLE_MS) / ms));
  }
  const times = [];
  for (let i = 0; i < SAMPLES; i++) times.push((await time(record, repeats)) / repeats);
  times.sort((a, b) => a - b);
  return { us: times[(SAMPLES - 1) / 2] * 1e3, least: times[0] * 1e3, most: times[SAMPLES - 1] * 1e3, repeats };
}

function buffer(bytes) {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  return device.createBuffer({ size: bytes, usage });
}

function filled(array) {
  const made = buffer(array.byteLength);
  device.queue.writeBuffer(made, 0, array);
  return made;
}

let state = 1;
const word = () => {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return state >>> 0;
};
const words = Uint32Array.from({ length: items }, word);
const input = filled(words);
const floats = filled(Float32Array.from(words, (w) => w / 2 ** 32));
const [output, values, sortedValues, small] = [buffer(items * 4), input, buffer(items * 4), buffer(4096)];

const CASES = {
  "reduce/sum u32": {
    of: up.reduce,
    itemCount: items,
    input: "u32",
    combine: "sum",
    buffers: { input, output: small },
  },
  "scan/exclusive_sum u32": {
    of: up.scan,
    itemCount: items,
    input: "u32",
    combine: "sum",
    kind: "exclusive",
    buffers: { input, output },
  },
  "histogram/even_256 f32": {
    of: up.histogram,
    itemCount: items,
    bins: { count: 256, lower: 0, upper: 1 },
    buffers: { input: floats, output: small },
  },
  "sort/keys u32": { of: up.sort, itemCount: items, key: "u32", buffers: { keys: input, sortedKeys: output } },
  "sort/pairs u32": {
    of: up.sort,
    itemCount: items,
    key: "u32",
    value: "u32",
    buffers: { keys: input, values, sortedKeys: output, sortedValues },
  },
};
console.log(
  `${device.adapterInfo?.description || device.adapterInfo?.device}, ${items} items, median (least to most), us`,
);
for (const [name, { of, ...request }] of Object.entries(CASES)) {
  await of.prepare(request);
  const { us, least, most, repeats } = await median((pass) => of.record(pass, request));
  console.log(`${name.padEnd(24)} ${us.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)}), ${repeats} in a pass`);
}
up.dispose();
device.destroy();
