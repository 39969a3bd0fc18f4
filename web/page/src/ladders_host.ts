// SPDX-License-Identifier: Apache-2.0
// The module of the ladders (web/wasm/ladders) in a worker, where its loops over many items hold up nothing; in this
// thread where there are no workers of the browser's kind, as in Node.
import { UpsweepError } from "../../src/errors.js";
import { type HostTiming, LadderCalls, type LaddersReply, type LaddersRequest } from "./ladders_calls.js";

export interface LadderHost {
  /** Rejects with the signal's reason when it is aborted, and is of no more use then. */
  call(request: object, signal?: AbortSignal): Promise<Record<string, unknown>>;
  /** Times the CPU's step of a family. */
  timeCpu(family: string, signal?: AbortSignal): Promise<HostTiming>;
  close(): void;
}

class ThisThread implements LadderHost {
  readonly #calls: LadderCalls;

  constructor(module: WebAssembly.Module) {
    this.#calls = new LadderCalls(module);
  }
  async call(request: object, signal?: AbortSignal): Promise<Record<string, unknown>> {
    signal?.throwIfAborted();
    return this.#calls.call(request);
  }
  async timeCpu(family: string, signal?: AbortSignal): Promise<HostTiming> {
    signal?.throwIfAborted();
    return this.#calls.timeCpu(family);
  }
  close(): void {}
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

class InWorker implements LadderHost {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;
  #ended: { why: unknown } | undefined;

  constructor(module: WebAssembly.Module) {
    this.#worker = new Worker(new URL("./ladders_worker.ts", import.meta.url), { type: "module" });
    this.#worker.onmessage = (event: MessageEvent<LaddersReply>) => this.#settle(event.data);
    this.#worker.onerror = ({ message }) => {
      // Without words if its script was not loaded.
      this.#end(new UpsweepError("internal", `The worker failed: ${message ?? "its script was not loaded"}`));
    };
    this.#worker.postMessage(module);
  }
  call(request: object, signal?: AbortSignal): Promise<Record<string, unknown>> {
    return this.#send({ request }, signal) as Promise<Record<string, unknown>>;
  }
  timeCpu(family: string, signal?: AbortSignal): Promise<HostTiming> {
    return this.#send({ timeCpu: family }, signal) as Promise<HostTiming>;
  }
  close(): void {
    this.#end(new UpsweepError("invalid_request", "The ladders are closed."));
  }

  async #send(what: Omit<LaddersRequest, "id">, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted();
    if (this.#ended !== undefined) throw this.#ended.why;
    const id = this.#next++;
    const abort = (): void => this.#end(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        this.#worker.postMessage({ id, ...what } satisfies LaddersRequest);
      });
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  #settle(reply: LaddersReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.error === undefined) waiting?.resolve(reply.answer);
    else waiting?.reject(new UpsweepError(reply.error.kind, reply.error.message));
  }
  #end(why: unknown): void {
    this.#ended ??= { why };
    this.#worker.terminate();
    for (const waiting of this.#waiting.values()) waiting.reject(why);
    this.#waiting.clear();
  }
}

export function openHost(module: WebAssembly.Module): LadderHost {
  return typeof Worker === "undefined" ? new ThisThread(module) : new InWorker(module);
}
