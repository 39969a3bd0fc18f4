// SPDX-License-Identifier: Apache-2.0
// Writes the cases of the conformance test as conformance.cpp reads them, and runs that.
// usage: node write_cases.mjs CASES PROGRAM HASHES
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

import { encode } from "../dist/codec.js";
import { Primitive, ROOMS } from "../dist/primitives.js";
import { conformanceCases } from "./cases.mjs";

/** What the primitive asks of the planner. */
function requestOf(one) {
  let request;
  const planner = {
    plan(asked) {
      request = asked;
      return { plan: { kernels: [] }, tuning: {} };
    },
  };
  const host = { planner, traits: { offsetAlignment: 256 }, plans: new Map(), intern: (answer) => answer };
  const buffers = {};
  for (const name of Object.keys({ ...one.inputs, ...one.offsets })) {
    // As much of a buffer as planning looks at.
    const buffer = { mapAsync() {}, usage: 0x80 };
    buffers[name] = { buffer, offset: one.offsets[name] ?? 0 };
  }
  new Primitive(host, ROOMS[one.room]).plan({ ...one.shape, tuning: one.tuning, buffers });
  const { traits, ...rest } = request;
  return rest;
}

const cases = conformanceCases().map((one) => {
  const names = Object.keys({ ...one.inputs, ...one.offsets });
  const args = names.map((name) => [name, { bytes: one.inputs[name], offset: one.offsets[name] ?? 0 }]);
  return {
    name: one.name,
    profile: one.profile,
    repeat: one.repeat,
    request: requestOf(one),
    arguments: Object.fromEntries(args),
  };
});
const [, , casesFile, program, hashesFile] = process.argv;
writeFileSync(casesFile, encode(cases));
execFileSync(program, [casesFile, hashesFile], { stdio: "inherit" });
