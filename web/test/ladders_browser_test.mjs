// SPDX-License-Identifier: Apache-2.0
// The engine of the page's ladders in Chromium, served by Vite as the page is: its loops over items run in a worker.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createServer } from "vite";

import { openBrowser } from "./browser.mjs";
import { FAMILIES } from "./ladder_checks.mjs";

const web = fileURLToPath(new URL("..", import.meta.url));
const server = await createServer({
  configFile: `${web}/page/vite.config.ts`,
  logLevel: "error",
  server: { port: 0, host: "127.0.0.1", hmr: false, ws: false },
});
await server.listen();
const browser = await openBrowser();
const page = await browser.newPage();
const complaints = [];
page.on("console", (message) => {
  if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
});
page.on("pageerror", (error) => complaints.push(String(error)));
const address = `http://127.0.0.1:${server.httpServer.address().port}`;
await page.route(`${address}/blank.html`, (route) =>
  route.fulfill({ contentType: "text/html", body: '<!doctype html><link rel="icon" href="data:,">' }),
);
await page.goto(`${address}/blank.html`);

after(async () => {
  await browser.close();
  await server.close();
});

test("opens on a device", async () => {
  const unsupported = await page.evaluate(
    async (checks) => {
      const { openDevice } = await import(`/@fs/${checks.replace("test/ladder_checks.mjs", "src/index.ts")}`);
      const { openLadders } = await import("/src/ladders.ts");
      globalThis.checks = await import(`/@fs/${checks}`);
      globalThis.device = await openDevice();
      globalThis.uncaptured = [];
      globalThis.device.onuncapturederror = (event) => globalThis.uncaptured.push(event.error.message);
      globalThis.ladders = await openLadders(globalThis.device);
      return globalThis.checks.unsupportedSteps(globalThis.ladders);
    },
    fileURLToPath(new URL("ladder_checks.mjs", import.meta.url)),
  );
  assert.equal(unsupported.length, 1, String(unsupported));
  assert.match(unsupported[0], /^sort\.cpu_threads/);
});

for (const family of FAMILIES) {
  for (const items of [1000, 10007]) {
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
