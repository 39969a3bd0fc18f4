// SPDX-License-Identifier: Apache-2.0
/** Parallel primitives for WebGPU: reduce, scan, select, histogram, sort and their relatives. */
export type { NumberArray } from "./elements.js";
export { type ErrorKind, UpsweepError } from "./errors.js";
export type { ExecutorStatistics, RecordTarget } from "./executor.js";
export * from "./plan.js";
export type { PlanAnswer, Planner, PlanRequest } from "./planner.js";
export type { PlanOptions, Primitive, RecordOptions } from "./primitives.js";
export type { CsrMatrix } from "./runs.js";
export type { ProbeReport } from "./self_test.js";
export type * from "./shapes.js";
export type { DeviceTraits } from "./traits.js";
export { openDevice, Upsweep, type UpsweepOptions } from "./upsweep.js";
export type { Arguments, BufferRange, BufferView } from "./views.js";
export type { WasmSource } from "./wasm.js";
