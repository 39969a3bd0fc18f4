// SPDX-License-Identifier: Apache-2.0
// Pipelines by the full text of their kernel.
import { type ErrorKind, messageOf, UpsweepError } from "./errors.js";
import { type Kernel, type KernelBinding, locate } from "./plan.js";

// Values of GPUShaderStage: not every host has the globals.
const COMPUTE_STAGE = 4;

/**
 * Bits of binding indices that are bound read_write although the kernel says read, since the dispatch uses other
 * ranges of the same buffer.
 */
export type SharedBindings = number;

export interface Pipeline {
  readonly id: number;
  readonly kernel: Kernel;
  readonly layout: GPUBindGroupLayout;
  pipeline: GPUComputePipeline | undefined;
  /** While it is being created asynchronously. */
  pending: Promise<void> | undefined;
  error: UpsweepError | undefined;
}

interface Parts {
  module: GPUShaderModule;
  descriptor: GPUComputePipelineDescriptor & { compute: GPUProgrammableStage };
}

export class PipelineCache {
  readonly #device: GPUDevice;
  readonly #late: (error: UpsweepError) => void;
  readonly #pipelines = new Map<string, Map<SharedBindings, Pipeline>>();
  #count = 0;

  /** `late` gets the errors of pipelines that were made without waiting. */
  constructor(device: GPUDevice, late: (error: UpsweepError) => void) {
    this.#device = device;
    this.#late = late;
  }

  get created(): number {
    return this.#count;
  }

  isReady(kernel: Kernel): boolean {
    return this.#pipelines.get(kernel.text)?.get(0)?.pipeline !== undefined;
  }

  /** Creates it at once if need be. What the compiler says then arrives later. */
  get(kernel: Kernel, shared: SharedBindings): Pipeline & { pipeline: GPUComputePipeline } {
    const known = this.#entry(kernel, shared);
    if (known.error !== undefined) throw known.error;
    if (known.pipeline === undefined) {
      const device = this.#device;
      device.pushErrorScope("internal");
      device.pushErrorScope("validation");
      const parts = this.#parts(known, shared);
      known.pipeline = device.createComputePipeline(parts.descriptor);
      const failures = Promise.all([device.popErrorScope(), device.popErrorScope()]);
      const settle = async (): Promise<void> => {
        const failure = (await failures).find((one) => one !== null);
        if (failure === undefined || failure === null) return;
        known.error = await compilerError(parts.module, kernel, failure.message);
        this.#late(known.error);
      };
      settle().catch(() => undefined); // the device is lost, which its owner is told
    }
    return known as Pipeline & { pipeline: GPUComputePipeline };
  }

  /** Creates it without holding up anything; rejects with what the compiler says. */
  async prepare(kernel: Kernel): Promise<void> {
    const known = this.#entry(kernel, 0);
    if (known.pipeline === undefined) {
      known.pending ??= this.#create(known);
      await known.pending;
    }
    if (known.error !== undefined) throw known.error;
  }

  async #create(known: Pipeline): Promise<void> {
    const { kernel } = known;
    const device = this.#device;
    device.pushErrorScope("validation");
    const parts = this.#parts(known, 0);
    const refused = device.popErrorScope().catch(() => null);
    try {
      const made = await device.createComputePipelineAsync(parts.descriptor);
      // One that was needed at once may have come first.
      known.pipeline ??= made;
    } catch (error) {
      // A driver's failure, or the text's fault.
      const kind = (error as Partial<GPUPipelineError>).reason === "internal" ? "device" : "internal";
      known.error = await compilerError(parts.module, kernel, messageOf(error), kind);
    }
    await refused;
    known.pending = undefined;
  }

  #entry(kernel: Kernel, shared: SharedBindings): Pipeline {
    let variants = this.#pipelines.get(kernel.text);
    if (variants === undefined) {
      variants = new Map();
      this.#pipelines.set(kernel.text, variants);
    }
    let known = variants.get(shared);
    if (known === undefined) {
      const entries = kernel.bindings.map((binding) => ({
        binding: binding.index,
        visibility: COMPUTE_STAGE,
        buffer: { type: bufferType(binding, shared) },
      }));
      const layout = this.#device.createBindGroupLayout({ label: labelOf(kernel), entries });
      known = { id: this.#count++, kernel, layout, pipeline: undefined, pending: undefined, error: undefined };
      variants.set(shared, known);
    }
    return known;
  }

  #parts(known: Pipeline, shared: SharedBindings): Parts {
    const { kernel } = known;
    const label = labelOf(kernel);
    const module = this.#device.createShaderModule({ label, code: withSharedAccess(kernel, shared) });
    const layout = this.#device.createPipelineLayout({ label, bindGroupLayouts: [known.layout] });
    return { module, descriptor: { label, layout, compute: { module, entryPoint: kernel.entry } } };
  }
}

function labelOf(kernel: Kernel): string {
  return `upsweep.${kernel.name}`;
}

function bufferType(binding: KernelBinding, shared: SharedBindings): GPUBufferBindingType {
  if (binding.kind === "uniform") return "uniform";
  const reads = binding.kind === "storage_read" && ((shared >>> binding.index) & 1) === 0;
  return reads ? "read-only-storage" : "storage";
}

// WebGPU allows two ranges of one buffer in a dispatch only if they are bound alike.
function withSharedAccess(kernel: Kernel, shared: SharedBindings): string {
  let { text } = kernel;
  for (const { index } of kernel.bindings) {
    if (((shared >>> index) & 1) === 0) continue;
    const head = `@group(0) @binding(${index}) var<storage, read`;
    text = text.replace(`${head}> `, `${head}_write> `);
  }
  return text;
}

// What the compiler says of the module, with lines in the files and texts that it was assembled from.
async function compilerError(
  module: GPUShaderModule,
  kernel: Kernel,
  otherwise: string,
  otherwiseKind: ErrorKind = "internal",
): Promise<UpsweepError> {
  let kind = otherwiseKind;
  let text = "";
  const info = await module.getCompilationInfo().catch(() => undefined);
  for (const message of info?.messages ?? []) {
    if (message.type !== "error") continue;
    const where = locate(kernel, message.lineNum);
    // Library files end in .wgsl, everything else is made of what the caller gave; a name that is declared twice is one
    // of the caller's, wherever it is met.
    const isOfCaller = !where.includes(".wgsl:") || isDeclaredTwice(message.message);
    if (text === "" && isOfCaller) kind = "invalid_request";
    text += `\n   ${where}: ${explained(message.message)}`;
  }
  return new UpsweepError(kind, `Kernel ${kernel.name} was refused by the device:${text || ` ${otherwise}`}`);
}

function isDeclaredTwice(message: string): boolean {
  return /redeclaration of '/.test(message);
}

function explained(message: string): string {
  const name = /redeclaration of '([^']*)'/.exec(message)?.[1];
  if (name === undefined) return message;
  return `"${name}" is declared twice; the operator, the type or the transform declares a name that the library uses.`;
}
