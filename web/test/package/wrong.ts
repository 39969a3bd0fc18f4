// Must not compile: each line that is marked has a mistake.
import type { Upsweep } from "upsweep";

export function mistakes(up: Upsweep, encoder: GPUCommandEncoder, buffer: GPUBuffer) {
  // @ts-expect-error: no such field
  up.sort.record(encoder, { itemCount: 4, kye: "f32", buffers: { keys: buffer, sortedKeys: buffer } });
  // @ts-expect-error: no such type
  up.sort.record(encoder, { itemCount: 4, key: "f33", buffers: { keys: buffer, sortedKeys: buffer } });
  // @ts-expect-error: no such buffer
  up.sort.record(encoder, { itemCount: 4, buffers: { keys: buffer, output: buffer } });
  // @ts-expect-error: a predicate is needed
  up.select.plan({ itemCount: 4 });
  // @ts-expect-error: no such knob
  up.scan.plan({ itemCount: 4, tuning: { digitBits: 4 } });
}
