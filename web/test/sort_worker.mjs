// SPDX-License-Identifier: Apache-2.0
import { Upsweep } from "../dist/index.js";

globalThis.onmessage = async ({ data }) => {
  const up = await Upsweep.create();
  postMessage(await up.sort.run(data));
  up.dispose();
};
