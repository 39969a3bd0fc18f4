// SPDX-License-Identifier: Apache-2.0
// WebAssembly modules with the interface of web/wasm/call.cpp: one value in, one value out.
import { decode, encode } from "./codec.js";
import { type ErrorKind, messageOf, UpsweepError } from "./errors.js";

/** Where the module comes from, if not from beside this file. */
export type WasmSource = string | URL | Response | Promise<Response> | BufferSource | WebAssembly.Module;

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  upsweep_room(size: number): number;
  upsweep_call(): number;
  upsweep_size(): number;
}

export class WasmCalls {
  readonly #module: WebAssembly.Module;
  readonly #name: string;
  #exports: Exports | undefined;

  /** `name` is what errors call it. */
  constructor(module: WebAssembly.Module, name: string) {
    this.#module = module;
    this.#name = name;
  }

  /** Throws the error that the answer has. */
  call(request: object): Record<string, unknown> {
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
      throw new UpsweepError("internal", `The ${this.#name} failed: ${messageOf(error)}`, { cause: error });
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
      throw new UpsweepError("internal", `The module called ${name}.`);
    };
    imports[from] ??= {};
    imports[from][name] = known[name] ?? noSuchCall;
  }
  exports = new WebAssembly.Instance(module, imports).exports as unknown as Exports;
  exports._initialize();
  return exports;
}

// Its name as an argument keeps bundlers from looking for it, and Vite's server from warning of it.
function imported(name: string): Promise<unknown> {
  return import(/* @vite-ignore */ name);
}

async function readFile(url: URL): Promise<BufferSource> {
  const { readFile: read } = (await imported("node:fs/promises")) as { readFile(url: URL): Promise<BufferSource> };
  return read(url); // Node only
}

type WasmFile = string | URL | Response | BufferSource;

export async function compileModule(source: WasmSource): Promise<WebAssembly.Module> {
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
