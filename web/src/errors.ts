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

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
