// SPDX-License-Identifier: Apache-2.0
// The device of the page and the library on it; lost ones are opened again when the reader asks for it.
import { messageOf } from "../../src/errors.js";
import { openDevice, Upsweep } from "../../src/index.js";

export interface Session {
  readonly adapter: GPUAdapter;
  readonly device: GPUDevice;
  readonly up: Upsweep;
  /** Aborted when the device is lost. */
  readonly lost: AbortSignal;
}

export type SessionState =
  | { kind: "opening" }
  | { kind: "missing"; why: "insecure" | "no_api" | "no_adapter" }
  | { kind: "failed"; message: string }
  | { kind: "ready"; session: Session }
  | { kind: "lost"; message: string };

type Listener = (state: SessionState) => void;

export class Sessions {
  #state: SessionState = { kind: "opening" };
  readonly #listeners: Listener[] = [];

  get state(): SessionState {
    return this.#state;
  }
  get session(): Session | undefined {
    return this.#state.kind === "ready" ? this.#state.session : undefined;
  }

  /** Calls it now and at every change. */
  watch(listener: Listener): void {
    this.#listeners.push(listener);
    listener(this.#state);
  }

  async open(): Promise<void> {
    this.#set({ kind: "opening" });
    try {
      this.#set(await this.#open());
    } catch (error) {
      this.#set({ kind: "failed", message: messageOf(error) });
    }
  }

  async #open(): Promise<SessionState> {
    const gpu = (navigator as Partial<Navigator>).gpu;
    if (gpu === undefined) return { kind: "missing", why: isSecureContext ? "no_api" : "insecure" };
    // openDevice asks for one of its own: an adapter gives one device. This one shows what there is.
    const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
    if (adapter === null) return { kind: "missing", why: "no_adapter" };
    const device = await openDevice(gpu);
    const controller = new AbortController();
    let isOpen = false;
    const whenLost = device.lost.then((info) => {
      controller.abort();
      if (isOpen) this.#set({ kind: "lost", message: info.message || info.reason });
    });
    let up: Upsweep;
    try {
      up = await Upsweep.create(device);
    } catch (error) {
      device.destroy();
      await whenLost;
      throw error;
    }
    isOpen = true;
    // For readers with the console open.
    Object.assign(globalThis, { upsweep: up });
    return { kind: "ready", session: { adapter, device, up, lost: controller.signal } };
  }

  #set(state: SessionState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener(state);
  }
}
