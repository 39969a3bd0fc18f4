// SPDX-License-Identifier: Apache-2.0
// The engine of the page's ladders in Chromium, built by Vite as the page is: its loops over items run in a worker.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

import { openBrowser } from "./browser.mjs";
import { FAMILIES } from "./ladder_checks.mjs";
import { serve } from "./server.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "upsweep-ladders-"));
await build({
  configFile: join(here, "../page/vite.config.ts"),
  root: join(here, "ladders"),
  logLevel: "error",
  build: { outDir: folder, emptyOutDir: true },
});
const server = await serve(folder);
const browser = await openBrowser();
const page = await browser.newPage();
const complaints = [];
page.on("console", (message) => {
  if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
});
page.on("pageerror", (error) => complaints.push(String(error)));
await page.goto(server.address);

after(async () => {
  await browser.close();
  server.close();
  rmSync(folder, { recursive: true });
});

test("opens on a device", async () => {
  const unsupported = await page.evaluate(async () => {
    globalThis.ladders = await globalThis.opening;
    return globalThis.checks.unsupportedSteps(globalThis.ladders);
  });
  assert.equal(unsupported.length, 1, String(unsupported));
  assert.match(unsupported[0], /^sort\.cpu_threads/);
});

for (const family of FAMILIES) {
  // SwiftShader takes long to compile sorts, and those of one workgroup are others.
  for (const items of family === "sort" ? [10007] : [1000, 10007]) {
    test(`every step of ${family} of ${items} is right`, async () => {
      const mistakes = await page.evaluate(
        ([which, count]) => globalThis.checks.mistakesOf(globalThis.ladders, which, count),
        [family, items],
      );
      assert.deepEqual(mistakes, []);
    });
  }
}

test("a long step of the CPU stops when asked", async () => {
  const message = await page.evaluate(async () => {
    const controller = new AbortController();
    const onProgress = (_done, _of, step) => {
      if (step === "cpu") setTimeout(() => controller.abort(new Error("enough")), 20);
    };
    const options = { items: 2 ** 24, signal: controller.signal, onProgress, onResult: () => {} };
    return globalThis.ladders.run("sort", options).then(
      () => "ran to its end",
      (error) => error.message,
    );
  });
  assert.equal(message, "enough");
});

test("nothing complained", async () => {
  assert.deepEqual(await page.evaluate(() => globalThis.uncaptured), []);
  assert.deepEqual(complaints, []);
});
