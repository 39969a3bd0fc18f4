// SPDX-License-Identifier: Apache-2.0
// The package in a page and in a worker. usage: UPSWEEP_HASHES=FILE node --test browser_test.mjs
// UPSWEEP_ALL_CASES=1 runs the cases that are left out since SwiftShader takes long to compile them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

import { openBrowser } from "./browser.mjs";
import { conformanceCases } from "./cases.mjs";
import { serve } from "./server.mjs";

const expected = JSON.parse(readFileSync(process.env.UPSWEEP_HASHES, "utf8"));
const server = await serve(fileURLToPath(new URL("..", import.meta.url)));
const browser = await openBrowser();
const page = await browser.newPage();
const complaints = [];
page.on("console", (message) => {
  if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
});
page.on("pageerror", (error) => complaints.push(String(error)));
await page.goto(`${server.address}/test/page.html`);

after(async () => {
  await browser.close();
  server.close();
});

test("a page opens a device, and the probe finds its subgroups", async () => {
  const found = await page.evaluate(() => globalThis.opened());
  assert.equal(found.traits.isCpu, true);
  assert.equal(found.probe.ran, true);
  assert.ok(found.probe.workgroupAtomics && found.probe.integerDivision);
  assert.equal(found.traits.subgroups, true);
  assert.equal(found.probe.subgroupSize, 4);
});

for (const { name, quick } of conformanceCases()) {
  if (!quick && process.env.UPSWEEP_ALL_CASES === undefined) continue;
  test(name, async () => {
    const hash = await page.evaluate((which) => globalThis.runNamed(which), name);
    assert.equal(hash, expected.cases[name][0]);
  });
}

test("a module worker sorts", async () => {
  assert.deepEqual(await page.evaluate(() => globalThis.sortInWorker([3, -1, 2.5])), [-1, 2.5, 3]);
});

test("errors of an operator are exceptions in the page", async () => {
  const error = await page.evaluate(() => globalThis.runBroken());
  assert.equal(error.kind, "invalid_request");
  assert.match(error.message, /operator "f":1: .*nope/);
});

test("nothing complained", () => {
  // What the browser itself prints of the shader that was meant to be broken.
  assert.deepEqual(
    complaints.filter((text) => !text.includes("nope")),
    [],
  );
});
