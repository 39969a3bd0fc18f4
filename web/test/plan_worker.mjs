// SPDX-License-Identifier: Apache-2.0
import { parentPort } from "node:worker_threads";

import { loadPlanner } from "../dist/planner.js";

const planner = await loadPlanner();
parentPort.postMessage(planner.explain({ primitive: "sort", shape: { itemCount: 10 }, traits: {} }));
