// What a page does with the package: sorts a buffer of its own device, and an array.
import { Upsweep, UpsweepError } from "upsweep";

// TypeScript has the interfaces of WebGPU, but not yet its flags.
declare const GPUBufferUsage: Record<"STORAGE" | "COPY_SRC" | "COPY_DST" | "MAP_READ", number>;
declare const GPUMapMode: { READ: number };

declare global {
  var result: Promise<{ buffer: number[]; array: number[]; sum: number | bigint; message: string }>;
}

async function sortBuffer(up: Upsweep, device: GPUDevice): Promise<number[]> {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const keys = device.createBuffer({ size: 16, usage });
  device.queue.writeBuffer(keys, 0, new Float32Array([4, -2, 8, 1]));
  const encoder = device.createCommandEncoder();
  up.sort.record(encoder, { itemCount: 4, key: "f32", buffers: { keys, sortedKeys: keys } });
  const copy = device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  encoder.copyBufferToBuffer(keys, 0, copy, 0, 16);
  device.queue.submit([encoder.finish()]);
  await copy.mapAsync(GPUMapMode.READ);
  return [...new Float32Array(copy.getMappedRange())];
}

async function run() {
  const adapter = await navigator.gpu.requestAdapter();
  if (adapter === null) throw new Error("no adapter");
  const device = await adapter.requestDevice();
  using up = await Upsweep.create(device);
  const buffer = await sortBuffer(up, device);
  const sorted: Int32Array = await up.sort.run(new Int32Array([3, -1, 2]));
  const sum = await up.reduce.run(new Float32Array([1, 2, 3]));
  let message = "";
  try {
    up.sort.plan({ itemCount: -1 });
  } catch (error) {
    if (error instanceof UpsweepError && error.kind === "invalid_request") message = error.message;
  }
  return { buffer, array: [...sorted], sum, message };
}

globalThis.result = run();
