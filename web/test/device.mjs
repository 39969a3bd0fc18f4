// SPDX-License-Identifier: Apache-2.0
// WebGPU in Node: Dawn as the npm package webgpu has it, on the driver that VK_DRIVER_FILES names.
import { create, globals } from "webgpu";

Object.assign(globalThis, globals);
export const gpu = create([]);
