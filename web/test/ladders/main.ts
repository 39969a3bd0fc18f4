// SPDX-License-Identifier: Apache-2.0
import { openLadders } from "../../page/src/ladders.js";
import { openDevice } from "../../src/index.js";
import * as checks from "../ladder_checks.mjs";

const uncaptured: string[] = [];
async function open() {
  const device = await openDevice();
  device.onuncapturederror = (event) => uncaptured.push(event.error.message);
  return openLadders(device);
}
Object.assign(globalThis, { opening: open(), checks, uncaptured });
