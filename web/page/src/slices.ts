// SPDX-License-Identifier: Apache-2.0
// Work in slices, so that the tab stays alive.

/** Lets the browser paint and handle input. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(undefined);
  });
}

const SLICE_MS = 12;
const STEP = 1 << 14;

/** Calls `body(begin, end)` for all of [0, count), and pauses every few milliseconds. */
export async function sliced(
  count: number,
  signal: AbortSignal,
  body: (begin: number, end: number) => void,
): Promise<void> {
  let last = performance.now();
  for (let begin = 0; begin < count; begin += STEP) {
    body(begin, Math.min(begin + STEP, count));
    if (performance.now() - last < SLICE_MS) continue;
    await pause();
    signal.throwIfAborted();
    last = performance.now();
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** A job at a time: a button starts it, the same or another stops it. */
export class Job {
  #controller: AbortController | undefined;

  get isRunning(): boolean {
    return this.#controller !== undefined;
  }
  stop(): void {
    this.#controller?.abort();
  }
  /** Nothing where one runs already. True if it ended by itself. */
  async run(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    if (this.#controller !== undefined) return false;
    const controller = new AbortController();
    this.#controller = controller;
    try {
      await work(controller.signal);
      return true;
    } catch (error) {
      if (isAbort(error)) return false;
      throw error;
    } finally {
      this.#controller = undefined;
    }
  }
}

/** Ends with the signal, whatever becomes of the promise. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
