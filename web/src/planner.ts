// SPDX-License-Identifier: Apache-2.0
// The planners: a WebAssembly module that is fetched when the first Upsweep is created, once in a realm.
import { decode, encode } from "./codec.js";
import { type ErrorKind, messageOf, UpsweepError } from "./errors.js";
import type { Plan } from "./plan.js";
import type { DeviceTraits } from "./traits.js";

/** Where the module comes from, if not from beside this file. */
export type WasmSource = string | URL | Response | Promise<Response> | BufferSource | WebAssembly.Module;

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

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  upsweep_room(size: number): number;
  upsweep_call(): number;
  upsweep_size(): number;
}

export class Planner {
  readonly #module: WebAssembly.Module;
  #exports: Exports | undefined;

  constructor(module: WebAssembly.Module) {
    this.#module = module;
  }

  plan(request: PlanRequest): PlanAnswer {
    return this.#call({ ...request, want: "plan" }) as unknown as PlanAnswer;
  }
  explain(request: PlanRequest): string {
    return this.#call({ ...request, want: "text" })["text"] as string;
  }
  tuning(request: PlanRequest): PlanAnswer["tuning"] {
    return this.#call({ ...request, want: "tuning" })["tuning"] as PlanAnswer["tuning"];
  }

  #call(request: PlanRequest & { want: string }): Record<string, unknown> {
    let bytes: Uint8Array;
    try {
      bytes = encode(request);
    } catch (error) {
      throw new UpsweepError("invalid_request", messageOf(error), { cause: error });
    }
    let answer: Record<string, unknown>;
    try {
      this.#exports ??= instantiate(this.#module);
      const wasm = this.#exports;
      const at = wasm.upsweep_room(bytes.length);
      new Uint8Array(wasm.memory.buffer).set(bytes, at);
      const result = wasm.upsweep_call();
      answer = decode(new Uint8Array(wasm.memory.buffer, result, wasm.upsweep_size())) as Record<string, unknown>;
    } catch (error) {
      // Out of memory, most likely; its memory is in no state to go on with.
      this.#exports = undefined;
      throw new UpsweepError("internal", `The planner failed: ${messageOf(error)}`, { cause: error });
    }
    const failure = answer["error"] as { kind: ErrorKind; message: string } | undefined;
    if (failure !== undefined) throw new UpsweepError(failure.kind, failure.message);
    return answer;
  }
}

// The module asks for little of its surroundings: it has no files, no environment and prints nothing.
function instantiate(module: WebAssembly.Module): Exports {
  let exports: Exports | undefined;
  const zeros = (...places: number[]): number => {
    const view = new DataView((exports as Exports).memory.buffer);
    for (const place of places) view.setUint32(place, 0, true);
    return 0;
  };
  const known: Record<string, (...args: number[]) => number> = {
    emscripten_notify_memory_growth: () => 0,
    environ_sizes_get: (count, size) => zeros(count as number, size as number),
    environ_get: () => 0,
  };
  const imports: Record<string, Record<string, (...args: number[]) => number>> = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    const noSuchCall = (): number => {
      throw new UpsweepError("internal", `The planner called ${name}.`);
    };
    imports[from] ??= {};
    imports[from][name] = known[name] ?? noSuchCall;
  }
  exports = new WebAssembly.Instance(module, imports).exports as unknown as Exports;
  exports._initialize();
  return exports;
}

async function readFile(url: URL): Promise<BufferSource> {
  // Node only; its name in a variable keeps bundlers from looking for it.
  const files = "node:fs/promises";
  const { readFile: read } = (await import(/* @vite-ignore */ files)) as { readFile(url: URL): Promise<BufferSource> };
  return read(url);
}

type WasmFile = string | URL | Response | BufferSource;

async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  let from = (await source) as WasmFile;
  if (typeof from === "string" || from instanceof URL) {
    const url = new URL(from, import.meta.url);
    from = url.protocol === "file:" ? await readFile(url) : await fetch(url);
  }
  if (!(from instanceof Response)) return WebAssembly.compile(from);
  if (!from.ok) throw new Error(`${from.url}: ${from.status} ${from.statusText}`);
  const isWasm = from.headers.get("Content-Type")?.startsWith("application/wasm") === true;
  // Simple file servers do not know the type.
  return isWasm ? WebAssembly.compileStreaming(from) : WebAssembly.compile(await from.arrayBuffer());
}

let shared: Promise<Planner> | undefined;

/** The planners of this realm. The first call says where they come from. */
export function loadPlanner(source?: WasmSource): Promise<Planner> {
  shared ??= load(source ?? new URL("./upsweep.wasm", import.meta.url));
  return shared;
}

async function load(source: WasmSource): Promise<Planner> {
  try {
    return new Planner(await compile(source));
  } catch (error) {
    shared = undefined; // the next call may have more luck
    throw new UpsweepError("internal", `The planners (upsweep.wasm) were not loaded: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
