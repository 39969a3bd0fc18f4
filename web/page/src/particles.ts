// SPDX-License-Identifier: Apache-2.0
// A frame of the demo: move, histogram, scan, sort, draw; all in one command encoder.
import { USAGE } from "../../src/executor.js";
import type { BufferView } from "../../src/index.js";
import commonText from "./particles_common.wgsl?raw";
import drawText from "./particles_draw.wgsl?raw";
import moveText from "./particles_move.wgsl?raw";
import type { Session } from "./session.js";

export const STAGES = ["move", "histogram", "scan", "sort", "draw"] as const;
export type Stage = (typeof STAGES)[number];
/** Milliseconds on the device. */
export type StageTimes = Readonly<Record<Stage, number>>;

export interface Stir {
  readonly at: readonly [number, number];
  readonly speed: readonly [number, number];
  readonly strength: number;
}

const WORKGROUP = 256;
const SCENE_BYTES = 64;
const PARTICLE_BYTES = 16;
const PARTICLES_A_CELL = 16;
// Values of GPUShaderStage and GPUMapMode, which TypeScript does not declare.
const COMPUTE = 4;
const DRAW = 3;
const MAP_READ = 1;

/** Cells a side: a power of two, so that cells have whole bits. */
export function sideOf(particles: number): number {
  const side = 2 ** Math.round(Math.log2(Math.sqrt(particles / PARTICLES_A_CELL)));
  return Math.min(256, Math.max(16, side));
}

interface Pipelines {
  readonly place: GPUComputePipeline;
  readonly move: GPUComputePipeline;
  readonly draw: GPURenderPipeline;
  readonly computeLayout: GPUBindGroupLayout;
  readonly drawLayout: GPUBindGroupLayout;
}

async function makePipelines(device: GPUDevice, format: GPUTextureFormat): Promise<Pipelines> {
  const module = (label: string, text: string) => device.createShaderModule({ label, code: `${commonText}\n${text}` });
  const moveModule = module("particles move", moveText);
  const drawModule = module("particles draw", drawText);
  const layout = (visibility: GPUShaderStageFlags, types: readonly GPUBufferBindingType[]) =>
    device.createBindGroupLayout({
      entries: types.map((type, binding) => ({ binding, visibility, buffer: { type } })),
    });
  const reads = "read-only-storage";
  const computeLayout = layout(COMPUTE, ["uniform", reads, reads, reads, "storage", "storage"]);
  const drawLayout = layout(DRAW, ["uniform", reads, reads]);
  const pipelineLayout = (one: GPUBindGroupLayout) => device.createPipelineLayout({ bindGroupLayouts: [one] });
  const compute = (entryPoint: string) =>
    device.createComputePipelineAsync({
      label: entryPoint,
      layout: pipelineLayout(computeLayout),
      compute: { module: moveModule, entryPoint },
    });
  const add: GPUBlendComponent = { srcFactor: "one", dstFactor: "one", operation: "add" };
  const [place, move, draw] = await Promise.all([
    compute("scatter"),
    compute("advance"),
    device.createRenderPipelineAsync({
      label: "draw",
      layout: pipelineLayout(drawLayout),
      vertex: { module: drawModule, entryPoint: "corner" },
      fragment: { module: drawModule, entryPoint: "paint", targets: [{ format, blend: { color: add, alpha: add } }] },
      primitive: { topology: "triangle-list" },
    }),
  ]);
  return { place, move, draw, computeLayout, drawLayout };
}

/** Times of the stages, read back when they come. */
class StageClock {
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #read: GPUBuffer;
  #isBusy = false;

  constructor(device: GPUDevice) {
    const count = STAGES.length * 2;
    this.#queries = device.createQuerySet({ type: "timestamp", count });
    const size = count * 8;
    this.#resolved = device.createBuffer({ size, usage: USAGE.queryResolve | USAGE.copySrc });
    this.#read = device.createBuffer({ size, usage: USAGE.mapRead | USAGE.copyDst });
  }
  writes(stage: Stage): GPUComputePassTimestampWrites {
    const first = STAGES.indexOf(stage) * 2;
    return { querySet: this.#queries, beginningOfPassWriteIndex: first, endOfPassWriteIndex: first + 1 };
  }
  /** False while earlier times are on their way. */
  resolve(encoder: GPUCommandEncoder): boolean {
    if (this.#isBusy) return false;
    encoder.resolveQuerySet(this.#queries, 0, STAGES.length * 2, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#read, 0, this.#read.size);
    this.#isBusy = true;
    return true;
  }
  async read(): Promise<StageTimes> {
    await this.#read.mapAsync(MAP_READ);
    const stamps = new BigUint64Array(this.#read.getMappedRange());
    const times = STAGES.map((stage, i) => {
      const nanoseconds = Number((stamps[i * 2 + 1] as bigint) - (stamps[i * 2] as bigint));
      return [stage, Math.max(0, nanoseconds) / 1e6] as const;
    });
    this.#read.unmap();
    this.#isBusy = false;
    return Object.fromEntries(times) as unknown as StageTimes;
  }
  free(): void {
    this.#queries.destroy();
    this.#resolved.destroy();
    this.#read.destroy();
  }
}

export class Particles {
  readonly count: number;
  readonly side: number;
  readonly #session: Session;
  readonly #pipelines: Pipelines;
  readonly #clock: StageClock | undefined;
  readonly #scene: GPUBuffer;
  readonly #buffers: Readonly<Record<"moved" | "sorted" | "cells" | "counts" | "starts" | "sortedCells", GPUBuffer>>;
  readonly #computeGroup: GPUBindGroup;
  readonly #drawGroup: GPUBindGroup;
  #time = 0;
  #isPlaced = false;

  private constructor(session: Session, pipelines: Pipelines, count: number) {
    const { device } = session;
    this.#session = session;
    this.#pipelines = pipelines;
    this.count = count;
    this.side = sideOf(count);
    this.#clock = device.features.has("timestamp-query") ? new StageClock(device) : undefined;
    const buffer = (label: string, size: number, usage: GPUBufferUsageFlags = USAGE.storage) =>
      device.createBuffer({ label, size, usage });
    const cellBytes = this.side ** 2 * 4;
    this.#scene = buffer("scene", SCENE_BYTES, USAGE.uniform | USAGE.copyDst);
    this.#buffers = {
      moved: buffer("moved", count * PARTICLE_BYTES),
      sorted: buffer("sorted", count * PARTICLE_BYTES),
      cells: buffer("cells", count * 4),
      sortedCells: buffer("sorted cells", count * 4),
      counts: buffer("counts", cellBytes),
      starts: buffer("starts", cellBytes),
    };
    const { moved, sorted, cells, counts, starts } = this.#buffers;
    const group = (layout: GPUBindGroupLayout, ...buffers: readonly GPUBuffer[]) =>
      device.createBindGroup({
        layout,
        entries: buffers.map((one, binding) => ({ binding, resource: { buffer: one } })),
      });
    this.#computeGroup = group(pipelines.computeLayout, this.#scene, sorted, counts, starts, moved, cells);
    this.#drawGroup = group(pipelines.drawLayout, this.#scene, sorted, counts);
  }

  static async create(session: Session, count: number, format: GPUTextureFormat): Promise<Particles> {
    const particles = new Particles(session, await makePipelines(session.device, format), count);
    const { up } = session;
    try {
      await Promise.all([
        up.histogram.prepare(particles.#histogram()),
        up.scan.prepare(particles.#scan()),
        up.sort.prepare(particles.#sort()),
      ]);
    } catch (error) {
      particles.free();
      throw error;
    }
    return particles;
  }

  get stagesAreTimed(): boolean {
    return this.#clock !== undefined;
  }

  #histogram() {
    const { cells, counts } = this.#buffers;
    const bins = { kind: "integers" as const, count: this.side ** 2 };
    return { itemCount: this.count, sample: "u32" as const, bins, buffers: { input: cells, output: counts } };
  }
  #scan() {
    const { counts, starts } = this.#buffers;
    const buffers = { input: counts, output: starts };
    return { itemCount: this.side ** 2, input: "u32" as const, kind: "exclusive" as const, buffers };
  }
  #sort() {
    const { cells, moved, sortedCells, sorted } = this.#buffers;
    const buffers: Record<"keys" | "values" | "sortedKeys" | "sortedValues", BufferView> = {
      keys: cells,
      values: moved,
      sortedKeys: sortedCells,
      sortedValues: sorted,
    };
    const endBit = Math.log2(this.side) * 2;
    return { itemCount: this.count, key: "u32" as const, value: "vec4f" as const, endBit, buffers };
  }

  /** Submits a frame. The answer comes with the times of its stages, if they were taken. */
  frame(
    view: GPUTextureView,
    aspect: number,
    pixels: number,
    seconds: number,
    stir: Stir,
  ): Promise<StageTimes> | undefined {
    const { device, up } = this.#session;
    this.#time += seconds;
    this.#writeScene(aspect, pixels, seconds, stir);
    const encoder = device.createCommandEncoder({ label: "frame" });
    const inPass = (stage: Stage, record: (pass: GPUComputePassEncoder) => void) => {
      const timestampWrites = this.#clock?.writes(stage);
      const pass = encoder.beginComputePass(timestampWrites === undefined ? {} : { timestampWrites });
      record(pass);
      pass.end();
    };
    inPass("move", (pass) => this.#move(pass));
    inPass("histogram", (pass) => up.histogram.record(pass, this.#histogram()));
    inPass("scan", (pass) => up.scan.record(pass, this.#scan()));
    inPass("sort", (pass) => up.sort.record(pass, this.#sort()));
    this.#draw(encoder, view);
    const isTimed = this.#clock?.resolve(encoder) === true;
    device.queue.submit([encoder.finish()]);
    return isTimed ? this.#clock?.read() : undefined;
  }

  #move(pass: GPUComputePassEncoder): void {
    pass.setPipeline(this.#isPlaced ? this.#pipelines.move : this.#pipelines.place);
    this.#isPlaced = true;
    pass.setBindGroup(0, this.#computeGroup);
    pass.dispatchWorkgroups(...this.#grid());
  }
  #grid(): [number, number] {
    const groups = Math.ceil(this.count / WORKGROUP);
    const rows = Math.ceil(groups / this.#session.device.limits.maxComputeWorkgroupsPerDimension);
    return [Math.ceil(groups / rows), rows];
  }

  #draw(encoder: GPUCommandEncoder, view: GPUTextureView): void {
    const timestampWrites = this.#clock?.writes("draw");
    const pass = encoder.beginRenderPass({
      colorAttachments: [{ view, loadOp: "clear", storeOp: "store", clearValue: [0.02, 0.03, 0.06, 1] }],
      ...(timestampWrites === undefined ? {} : { timestampWrites }),
    });
    pass.setPipeline(this.#pipelines.draw);
    pass.setBindGroup(0, this.#drawGroup);
    pass.draw(6 * this.count);
    pass.end();
  }

  #writeScene(aspect: number, pixels: number, seconds: number, stir: Stir): void {
    // Fewer particles are larger; none is smaller than a pixel. Where they lie over each other their light adds up.
    const size = Math.max(1.2 / pixels, 0.8 / Math.sqrt(this.count));
    const layers = (this.count * size ** 2) / aspect;
    const brightness = Math.min(0.9, 0.9 / layers);
    const words = new ArrayBuffer(SCENE_BYTES);
    new Uint32Array(words).set([this.count, this.side, this.#grid()[0]]);
    new Float32Array(words).set(
      [this.#time, seconds, aspect, size, stir.strength, ...stir.at, ...stir.speed, brightness],
      3,
    );
    this.#session.device.queue.writeBuffer(this.#scene, 0, words);
  }

  free(): void {
    this.#clock?.free();
    this.#scene.destroy();
    for (const buffer of Object.values(this.#buffers)) buffer.destroy();
    this.#session.up.releaseBindings();
  }
}
