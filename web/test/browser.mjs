// SPDX-License-Identifier: Apache-2.0
// Chromium without a window, with WebGPU on SwiftShader.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const executablePath = [process.env.UPSWEEP_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (path) => path !== undefined && existsSync(path),
);

/** `more`: arguments of the browser. Canvases need "--use-angle=vulkan". */
export async function openBrowser(...more) {
  if (executablePath === undefined) throw new Error("No Chromium: set UPSWEEP_CHROMIUM to its path.");
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--enable-features=Vulkan",
      "--use-vulkan=native",
      "--enable-unsafe-webgpu",
      "--ignore-gpu-blocklist",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more,
    ],
  });
}
