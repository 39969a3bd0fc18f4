// SPDX-License-Identifier: Apache-2.0
// The cases of cases.mjs in Node. usage: UPSWEEP_HASHES=FILE node --test conformance_test.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";

import { openDevice, Upsweep } from "../dist/index.js";
import { conformanceCases, runCase } from "./cases.mjs";
import { gpu } from "./device.mjs";

const expected = JSON.parse(readFileSync(process.env.UPSWEEP_HASHES, "utf8"));
const device = await openDevice(gpu);
const up = await Upsweep.create(device, { gpu });
const uncaptured = [];
device.onuncapturederror = (event) => uncaptured.push(event.error.message);

after(() => {
  up.dispose();
  device.destroy();
});

test("both sides run the same cases", () => {
  const names = conformanceCases().map((one) => one.name);
  assert.deepEqual(names, Object.keys(expected.cases));
  assert.ok(names.length > 40);
});

for (const one of conformanceCases()) {
  test(one.name, async () => {
    const [hash, plan] = expected.cases[one.name];
    const result = await runCase(up, one);
    // The device is the same, so the plan must be.
    assert.equal(result.plan, plan);
    assert.equal(result.hash, hash, "the plan is the same, but the bytes are not");
    assert.deepEqual(uncaptured, []);
    assert.equal(up.takeError(), undefined);
  });
}
