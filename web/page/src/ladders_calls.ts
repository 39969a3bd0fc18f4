// SPDX-License-Identifier: Apache-2.0
// Calls of the ladders' module, in whichever thread it runs, and the messages that carry them to a worker.
import type { ErrorKind } from "../../src/errors.js";
import { WasmCalls } from "../../src/wasm.js";
import { nextRepeats, type Spread, spreadOf } from "./ladders_statistics.js";

export interface HostTiming {
  /** Of one run, in milliseconds. */
  ms: Spread;
  correct: boolean;
}

export interface LaddersRequest {
  id: number;
  request?: object;
  /** The family whose CPU step is to be timed. */
  timeCpu?: string;
}
export interface LaddersReply {
  id: number;
  answer?: unknown;
  error?: { kind: ErrorKind; message: string };
}

const CPU_SAMPLES = 5;
const CPU_SAMPLE_MS = 10;
// Runs that take long are not repeated as often.
const CPU_MOST_MS = 2000;

export class LadderCalls {
  readonly #wasm: WasmCalls;

  constructor(module: WebAssembly.Module) {
    this.#wasm = new WasmCalls(module, "module of the ladders");
  }

  call(request: object): Record<string, unknown> {
    return this.#wasm.call(request);
  }

  /** Of the size that was set last. */
  timeCpu(family: string): HostTiming {
    const run = (repeats: number): number => {
      const begin = performance.now();
      this.call({ call: "run_cpu", family, repeats });
      return performance.now() - begin;
    };
    run(1); // makes the items, too
    let repeats = 1;
    let total = run(repeats);
    for (;;) {
      const next = nextRepeats(repeats, total, CPU_SAMPLE_MS, 2 ** 24);
      if (next === repeats) break;
      repeats = next;
      total = run(repeats);
    }
    const samples = [total / repeats];
    while (samples.length < CPU_SAMPLES && total * (samples.length + 1) < CPU_MOST_MS) {
      samples.push(run(repeats) / repeats);
    }
    return { ms: spreadOf(samples), correct: this.call({ call: "check_cpu", family })["correct"] === true };
  }
}
