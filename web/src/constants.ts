// SPDX-License-Identifier: Apache-2.0
// Params and constants by content. Bytes once written are never written again, so recorded commands that were not yet
// submitted cannot see those of a later recording; a full pool is dropped.

const CHUNK_BYTES = 65536;
const MOST_ENTRIES = 16384;

export interface Place {
  readonly buffer: GPUBuffer;
  readonly offset: number;
}

interface Entry {
  bytes: Uint8Array;
  place: Place;
}

export class ConstantPool {
  readonly #alignment: number;
  readonly #createBuffer: (size: number) => GPUBuffer;
  readonly #queue: GPUQueue;
  #entries = new Map<number, Entry[]>();
  #count = 0;
  #chunk: GPUBuffer | undefined;
  #used = 0;

  constructor(queue: GPUQueue, alignment: number, createBuffer: (size: number) => GPUBuffer) {
    this.#queue = queue;
    this.#alignment = alignment;
    this.#createBuffer = createBuffer;
  }

  get isFull(): boolean {
    return this.#count >= MOST_ENTRIES;
  }

  put(bytes: Uint8Array<ArrayBuffer>): Place {
    const hash = hashOf(bytes);
    let bucket = this.#entries.get(hash);
    if (bucket === undefined) {
      bucket = [];
      this.#entries.set(hash, bucket);
    }
    const known = bucket.find((entry) => isEqual(entry.bytes, bytes));
    if (known !== undefined) return known.place;
    const size = Math.ceil(bytes.length / this.#alignment) * this.#alignment;
    if (this.#chunk === undefined || this.#used + size > this.#chunk.size) {
      this.#chunk = this.#createBuffer(Math.max(CHUNK_BYTES, size));
      this.#used = 0;
    }
    const place = { buffer: this.#chunk, offset: this.#used };
    this.#used += size;
    // Writes are whole words.
    const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
    padded.set(bytes);
    this.#queue.writeBuffer(place.buffer, place.offset, padded);
    bucket.push({ bytes: bytes.slice(), place });
    ++this.#count;
    return place;
  }

  clear(): void {
    this.#entries.clear();
    this.#count = 0;
    this.#chunk = undefined;
  }
}

function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5 ^ bytes.length;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash;
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
