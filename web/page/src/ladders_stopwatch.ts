// SPDX-License-Identifier: Apache-2.0
// Times recorded work: by timestamps of compute passes, else by the clock of the page.
import { USAGE } from "../../src/executor.js";
import { nextRepeats, type Spread, spreadOf } from "./ladders_statistics.js";

export type Recorder = (pass: GPUComputePassEncoder) => void;

const SAMPLES = 9;
// Browsers round timestamps to 100 us and Dawn to 65.536 us: a sample is fifty steps long at least.
const TIMESTAMP_SPAN_MS = 5;
const WALL_SPAN_MS = 30;
// Longer submissions would be felt in the page.
const ROUND_MS = 50;
const WARM_UP_MS = 30;
const MOST_WARM_UP = 256;
const MOST_DISPATCHES = 4096;

export interface Work {
  record: Recorder;
  /** Dispatches that one recording takes. */
  dispatches: number;
}

export class Stopwatch {
  readonly #device: GPUDevice;
  readonly #isCpu: boolean;
  #queries: GPUQuerySet | undefined;
  #resolved: GPUBuffer | undefined;
  #readable: GPUBuffer | undefined;
  #emptyMs: number | undefined;
  #warmUp: { record: Recorder; repeats: number } | undefined;

  constructor(device: GPUDevice, isCpu: boolean) {
    this.#device = device;
    this.#isCpu = isCpu;
    if (!device.features.has("timestamp-query")) return;
    const size = 2 * SAMPLES * 8;
    this.#queries = device.createQuerySet({ label: "ladders", type: "timestamp", count: 2 * SAMPLES });
    this.#resolved = device.createBuffer({ label: "ladders", size, usage: USAGE.queryResolve | USAGE.copySrc });
    this.#readable = device.createBuffer({ label: "ladders", size, usage: USAGE.mapRead | USAGE.copyDst });
  }

  /** Not where the device has none, or where they stood still. */
  get usesTimestamps(): boolean {
    return this.#queries !== undefined;
  }

  /** What raises the clock of a GPU before each round: work that takes so long. */
  setWarmUp(record: Recorder, ms: number): void {
    if (this.#isCpu) return;
    this.#warmUp = { record, repeats: Math.min(Math.ceil(WARM_UP_MS / Math.max(ms, 1e-3)), MOST_WARM_UP) };
  }

  /** Milliseconds of one recording. */
  async time(work: Work, signal: AbortSignal | undefined): Promise<Spread> {
    const most = Math.max(1, Math.floor(MOST_DISPATCHES / Math.max(work.dispatches, 1)));
    let repeats = 1;
    let span = 0;
    for (;;) {
      span = spreadOf(await this.#round(work.record, repeats, 1, span, signal)).median;
      if (span === 0 && repeats >= Math.min(most, 256) && this.#queries !== undefined) {
        // Timestamps that stand still are of no use.
        this.#dropQueries();
        repeats = 1;
        continue;
      }
      const target = this.#queries === undefined ? WALL_SPAN_MS : TIMESTAMP_SPAN_MS;
      const next = nextRepeats(repeats, span, target, most);
      if (next === repeats) break;
      repeats = next;
    }
    // One run of a slow step on a CPU may take seconds.
    const wanted = span > 1000 ? 1 : span > 200 ? 3 : SAMPLES;
    const samples: number[] = [];
    while (samples.length < wanted) {
      const room = Math.max(1, Math.floor(ROUND_MS / Math.max(span, 1e-3)));
      const got = await this.#round(work.record, repeats, Math.min(wanted - samples.length, room), span, signal);
      samples.push(...got.map((total) => total / repeats));
    }
    return spreadOf(samples);
  }

  dispose(): void {
    this.#dropQueries();
  }

  #dropQueries(): void {
    this.#queries?.destroy();
    this.#resolved?.destroy();
    this.#readable?.destroy();
    this.#queries = undefined;
  }

  // `span` is what a sample took last, or 0.
  #round(
    record: Recorder,
    repeats: number,
    samples: number,
    span: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly number[]> {
    signal?.throwIfAborted();
    if (this.#queries === undefined) return this.#wallRound(record, repeats, samples, signal);
    // One that is not timed, unless it would take long: systems reset a GPU that is busy for seconds.
    return this.#stampedRound(record, repeats, samples, span > 0 && span < ROUND_MS);
  }

  async #stampedRound(
    record: Recorder,
    repeats: number,
    samples: number,
    withUntimed: boolean,
  ): Promise<readonly number[]> {
    const { resolved, readable, querySet } = {
      resolved: this.#resolved as GPUBuffer,
      readable: this.#readable as GPUBuffer,
      querySet: this.#queries as GPUQuerySet,
    };
    const encoder = this.#device.createCommandEncoder({ label: "ladders" });
    if (!this.#isCpu) {
      const pass = encoder.beginComputePass();
      this.#recordWarmUp(pass);
      if (withUntimed) record(pass);
      pass.end();
    }
    for (let sample = 0; sample < samples; ++sample) {
      const pass = encoder.beginComputePass({
        timestampWrites: {
          querySet,
          beginningOfPassWriteIndex: 2 * sample,
          endOfPassWriteIndex: 2 * sample + 1,
        },
      });
      for (let i = 0; i < repeats; ++i) record(pass);
      pass.end();
    }
    const bytes = 16 * samples;
    encoder.resolveQuerySet(querySet, 0, 2 * samples, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, readable, 0, bytes);
    this.#device.queue.submit([encoder.finish()]);
    await readable.mapAsync(1, 0, bytes);
    const stamps = new BigUint64Array(readable.getMappedRange(0, bytes).slice(0));
    readable.unmap();
    const spans: number[] = [];
    for (let sample = 0; sample < samples; ++sample) {
      const [begin, end] = [stamps[2 * sample] as bigint, stamps[2 * sample + 1] as bigint];
      // Drivers have given pairs that run backwards.
      spans.push(end > begin ? Number(end - begin) * 1e-6 : 0);
    }
    const ahead = spans.filter((span) => span > 0);
    return ahead.length === 0 ? [0] : ahead;
  }

  async #wallRound(
    record: Recorder,
    repeats: number,
    samples: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly number[]> {
    if (this.#emptyMs === undefined) {
      const empty: number[] = [];
      for (let i = 0; i < 7; ++i) empty.push(await this.#wall(() => undefined));
      this.#emptyMs = spreadOf(empty).median;
    }
    await this.#wall((pass) => this.#recordWarmUp(pass));
    const spans: number[] = [];
    for (let sample = 0; sample < samples; ++sample) {
      signal?.throwIfAborted();
      const span = await this.#wall((pass) => {
        for (let i = 0; i < repeats; ++i) record(pass);
      });
      spans.push(Math.max(span - this.#emptyMs, 0));
    }
    return spans;
  }

  async #wall(record: Recorder): Promise<number> {
    const { queue } = this.#device;
    const encoder = this.#device.createCommandEncoder({ label: "ladders" });
    const pass = encoder.beginComputePass();
    record(pass);
    pass.end();
    const commands = encoder.finish();
    const begin = performance.now();
    queue.submit([commands]);
    await queue.onSubmittedWorkDone();
    return performance.now() - begin;
  }

  #recordWarmUp(pass: GPUComputePassEncoder): void {
    for (let i = 0; i < (this.#warmUp?.repeats ?? 0); ++i) this.#warmUp?.record(pass);
  }
}
