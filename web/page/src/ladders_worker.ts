// SPDX-License-Identifier: Apache-2.0
// The first message is the compiled module, all others are requests.
import { messageOf, UpsweepError } from "../../src/errors.js";
import { LadderCalls, type LaddersReply, type LaddersRequest } from "./ladders_calls.js";

let calls: LadderCalls | undefined;

globalThis.onmessage = (event: MessageEvent<WebAssembly.Module | LaddersRequest>) => {
  const { data } = event;
  if (data instanceof WebAssembly.Module) {
    calls = new LadderCalls(data);
    return;
  }
  const reply: LaddersReply = { id: data.id };
  try {
    if (data.timeCpu !== undefined) reply.answer = calls?.timeCpu(data.timeCpu);
    else reply.answer = calls?.call(data.request ?? {});
  } catch (error) {
    const kind = error instanceof UpsweepError ? error.kind : "internal";
    reply.error = { kind, message: messageOf(error) };
  }
  globalThis.postMessage(reply, { transfer: arraysIn(reply.answer) });
};

// Of the buffers of a step: matrices are large.
function arraysIn(answer: unknown): ArrayBuffer[] {
  const { buffers } = (answer ?? {}) as { buffers?: { bytes?: Uint8Array<ArrayBuffer> }[] };
  return (buffers ?? []).flatMap(({ bytes }) => (bytes === undefined ? [] : [bytes.buffer]));
}
