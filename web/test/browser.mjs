// SPDX-License-Identifier: Apache-2.0
// Chromium without a window, with WebGPU on SwiftShader.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const executablePath = [process.env.UPSWEEP_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (path) => path !== undefined && existsSync(path),
);

const plain = [
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const webgpu = ["--enable-features=Vulkan", "--use-vulkan=native", "--enable-unsafe-webgpu", "--ignore-gpu-blocklist"];

/** As it starts by itself here: without an adapter for WebGPU. `more`: further arguments. */
export async function openPlainBrowser(...more) {
  if (executablePath === undefined) throw new Error("No Chromium: set UPSWEEP_CHROMIUM to its path.");
  return chromium.launch({ executablePath, args: [...plain, ...more] });
}

/** With WebGPU. Its canvases need the argument --use-angle=vulkan, too. */
export async function openBrowser(...more) {
  return openPlainBrowser(...webgpu, ...more);
}
