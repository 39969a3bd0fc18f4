// SPDX-License-Identifier: Apache-2.0

/**
 * Why a call failed, which tells whose move it is.
 * - `invalid_request`: the caller asked for something impossible or contradictory; nothing was recorded.
 * - `unsupported`: the device lacks a feature or limit that the request needs; nothing was recorded.
 * - `device`: the device refused, was lost or ran out of memory.
 * - `internal`: a fault of the library.
 */
export type ErrorKind = "invalid_request" | "unsupported" | "device" | "internal";

/** Every error that this library throws. The message is in full sentences: what failed, the value and the limit. */
export class UpsweepError extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UpsweepError";
    this.kind = kind;
  }
}

/** The same error with one more line of context. */
export function withContext(error: unknown, context: string): UpsweepError {
  const known = error instanceof UpsweepError ? error : new UpsweepError("device", messageOf(error));
  return new UpsweepError(known.kind, `${known.message}\n - While ${context}.`, { cause: error });
}

/** Does what `work` says; `refusal` is what WebGPU has against it. Otherwise nobody might hear of it: results are zeros. */
export function watched<Result>(
  device: GPUDevice,
  work: () => Result,
): { result: Result; refusal: Promise<string | undefined> } {
  device.pushErrorScope("out-of-memory");
  device.pushErrorScope("validation");
  // Without memory for a buffer what uses it is invalid, too. A lost device is told of elsewhere.
  const popped = (): Promise<string | undefined> => {
    const [invalid, memory] = [device.popErrorScope(), device.popErrorScope()];
    return Promise.all([memory, invalid]).then(
      ([first, second]) => (first === null ? second?.message : `out of memory: ${first.message}`),
      () => undefined,
    );
  };
  let result: Result;
  try {
    result = work();
  } catch (error) {
    popped();
    throw error;
  }
  return { result, refusal: popped() };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
