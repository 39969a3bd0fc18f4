// SPDX-License-Identifier: Apache-2.0
// Plans as plain data: include/upsweep/plan.h has the same.

export type BindingKind = "uniform" | "storage_read" | "storage_read_write";

export interface KernelBinding {
  readonly name: string;
  readonly index: number;
  readonly kind: BindingKind;
}

/** Where a run of lines of a kernel's text came from: "scan_tile.wgsl", "operator \"my_max\"", ... */
export interface LineOrigin {
  readonly firstLine: number;
  readonly origin: string;
}

/** The complete WGSL text of one pipeline and what is known of it. Never depends on an item count. */
export interface Kernel {
  readonly name: string;
  readonly entry: string;
  readonly text: string;
  readonly textHash: string;
  readonly lines: readonly LineOrigin[];
  readonly bindings: readonly KernelBinding[];
  /** Fields of the uniform struct, 4 bytes each, in order. */
  readonly params: readonly string[];
  readonly workgroupSize: number;
  readonly workgroupBytes: number;
  readonly needsSubgroups: boolean;
  readonly needsF16: boolean;
}

export interface SlotId {
  readonly kind: "argument" | "scratch" | "constant" | "state";
  readonly index: number;
}

/** A buffer that the caller names when the plan is recorded. */
export interface ArgumentSlot {
  readonly name: string;
  /** The view must have at least these. */
  readonly sizeBytes: number;
  /** The view's offset must be a multiple of this. */
  readonly strideBytes: number;
  readonly isWritten: boolean;
}

export interface ScratchSlot {
  readonly name: string;
  /** Which of the scratch buffers. */
  readonly group: number;
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  readonly firstStep: number;
  readonly lastStep: number;
}

/** Memory that is zero at first and keeps what kernels leave in it; shared by all plans that name it. */
export interface StateSlot {
  readonly name: string;
  readonly sizeBytes: number;
}

export interface BoundRange {
  readonly binding: number;
  readonly slot: SlotId;
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  /** The params field that receives the items between the bound offset and the wanted one. */
  readonly firstItemField?: number;
}

export interface Dispatch {
  /** Index into the plan's kernels. */
  readonly kernel: number;
  readonly bindings: readonly BoundRange[];
  /** Workgroups; absent where they are read from a buffer. */
  readonly grid?: readonly [number, number, number];
  readonly indirect?: { readonly slot: SlotId; readonly offsetBytes: number };
  readonly params: Uint8Array<ArrayBuffer>;
  /** Params fields that must be equal modulo 4 once the offsets are known. */
  readonly alikeFields?: readonly [number, number];
  readonly reason: string;
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/** What to run. Each dispatch sees the writes of those before it. */
export interface Plan {
  readonly name: string;
  readonly arguments: readonly ArgumentSlot[];
  readonly scratch: readonly ScratchSlot[];
  readonly states: readonly StateSlot[];
  readonly constants: readonly Uint8Array<ArrayBuffer>[];
  readonly kernels: readonly Kernel[];
  readonly dispatches: readonly Dispatch[];
  /** Reasons and properties: the chosen path, error bounds, ... */
  readonly notes: readonly string[];
  readonly scratchGroupBytes: readonly number[];
  readonly scratchBytes: number;
  /** Bytes that any implementation must move, whatever the items are. */
  readonly leastBytes: number;
  /** The items decide how many results there are. */
  readonly countsResults: boolean;
}

/** "scan_tile.wgsl:31" for a line of a kernel's text. */
export function locate(kernel: Kernel, line: number): string {
  const found = kernel.lines.findLast((origin) => origin.firstLine <= line);
  return found === undefined ? `line ${line}` : `${found.origin}:${line - found.firstLine + 1}`;
}
