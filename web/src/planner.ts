// SPDX-License-Identifier: Apache-2.0
// The planners: a WebAssembly module that is fetched when the first Upsweep is created, once in a realm.
import { messageOf, UpsweepError } from "./errors.js";
import type { Plan } from "./plan.js";
import type { DeviceTraits } from "./traits.js";
import { compileModule, WasmCalls, type WasmSource } from "./wasm.js";

export interface PlanRequest {
  primitive: string;
  shape?: object;
  traits: DeviceTraits;
  tuning?: object | undefined;
  offsets?: object | undefined;
}

export interface PlanAnswer {
  plan: Plan;
  /** All knobs as they were used. */
  tuning: Record<string, number | string | boolean | object>;
}

export class Planner {
  readonly #wasm: WasmCalls;

  constructor(module: WebAssembly.Module) {
    this.#wasm = new WasmCalls(module, "planner");
  }

  plan(request: PlanRequest): PlanAnswer {
    return this.#wasm.call({ ...request, want: "plan" }) as unknown as PlanAnswer;
  }
  explain(request: PlanRequest): string {
    return this.#wasm.call({ ...request, want: "text" })["text"] as string;
  }
  tuning(request: PlanRequest): PlanAnswer["tuning"] {
    return this.#wasm.call({ ...request, want: "tuning" })["tuning"] as PlanAnswer["tuning"];
  }
}

let shared: Promise<Planner> | undefined;

/** The planners of this realm. The first call says where they come from. */
export function loadPlanner(source?: WasmSource): Promise<Planner> {
  shared ??= load(source ?? new URL("./upsweep.wasm", import.meta.url));
  return shared;
}

async function load(source: WasmSource): Promise<Planner> {
  try {
    return new Planner(await compileModule(source));
  } catch (error) {
    shared = undefined; // the next call may have more luck
    throw new UpsweepError("internal", `The planners (upsweep.wasm) were not loaded: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
