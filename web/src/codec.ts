// SPDX-License-Identifier: Apache-2.0
// Values as bytes, to and from the planners; web/wasm/value.h describes the format. Names of fields are camelCase here
// and snake_case there.

const TAG = { none: 0, no: 1, yes: 2, number: 3, text: 4, bytes: 5, list: 6, object: 7 } as const;

const utf8 = new TextEncoder();
const fromUtf8 = new TextDecoder();

const snakeNames = new Map<string, string>();
const camelNames = new Map<string, string>();

function remembered(names: Map<string, string>, name: string, convert: (name: string) => string): string {
  let known = names.get(name);
  if (known === undefined) {
    known = convert(name);
    // Wrong names from outside must not grow it for ever.
    if (names.size < 1000) names.set(name, known);
  }
  return known;
}

export function snakeCase(name: string): string {
  return remembered(snakeNames, name, (n) => n.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

export function camelCase(name: string): string {
  return remembered(camelNames, name, (n) => n.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()));
}

class Writer {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  #size = 0;

  value(value: unknown): void {
    if (value === undefined || value === null) this.#tag(TAG.none);
    else if (typeof value === "boolean") this.#tag(value ? TAG.yes : TAG.no);
    else if (typeof value === "number") this.#number(value);
    else if (typeof value === "string") {
      this.#tag(TAG.text);
      this.#block(utf8.encode(value));
    } else if (ArrayBuffer.isView(value)) {
      this.#tag(TAG.bytes);
      this.#block(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    } else if (Array.isArray(value)) {
      this.#tag(TAG.list);
      this.#count(value.length);
      for (const item of value) this.value(item);
    } else if (typeof value === "object") this.#object(value);
    else throw new TypeError(`A ${typeof value} cannot be part of a request.`);
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#size);
  }

  #object(value: object): void {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    this.#tag(TAG.object);
    this.#count(fields.length);
    for (const [name, field] of fields) {
      this.#block(utf8.encode(snakeCase(name)));
      this.value(field);
    }
  }
  #tag(tag: number): void {
    this.#room(1);
    this.#bytes[this.#size++] = tag;
  }
  #number(value: number): void {
    this.#tag(TAG.number);
    this.#room(8);
    this.#view.setFloat64(this.#size, value, true);
    this.#size += 8;
  }
  #count(count: number): void {
    this.#room(4);
    this.#view.setUint32(this.#size, count, true);
    this.#size += 4;
  }
  #block(bytes: Uint8Array): void {
    this.#count(bytes.length);
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#size);
    this.#size += bytes.length;
  }
  #room(size: number): void {
    if (this.#size + size <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#size + size));
    larger.set(this.#bytes);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  value(): unknown {
    switch (this.#view.getUint8(this.#at++)) {
      case TAG.none:
        return null;
      case TAG.no:
        return false;
      case TAG.yes:
        return true;
      case TAG.number:
        this.#at += 8;
        return this.#view.getFloat64(this.#at - 8, true);
      case TAG.text:
        return fromUtf8.decode(this.#block());
      case TAG.bytes:
        return this.#block().slice();
      case TAG.list:
        return Array.from({ length: this.#count() }, () => this.value());
      default: {
        const object: Record<string, unknown> = {};
        for (let left = this.#count(); left > 0; --left) {
          const name = camelCase(fromUtf8.decode(this.#block()));
          object[name] = this.value();
        }
        return object;
      }
    }
  }

  #count(): number {
    this.#at += 4;
    return this.#view.getUint32(this.#at - 4, true);
  }
  #block(): Uint8Array {
    const size = this.#count();
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }
}

export function encode(value: unknown): Uint8Array {
  const writer = new Writer();
  writer.value(value);
  return writer.finish();
}

/** Keeps nothing of `bytes`. */
export function decode(bytes: Uint8Array): unknown {
  return new Reader(bytes).value();
}
