// SPDX-License-Identifier: Apache-2.0
// The engine of the page's ladders (web/page/src/ladders.ts) as JavaScript, in a folder that is removed at the end.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const web = fileURLToPath(new URL("..", import.meta.url));

/** The folder; engine is the address of ladders.js in it. */
export function compileLadders() {
  const folder = mkdtempSync(join(tmpdir(), "upsweep-ladders-"));
  const compiler = join(web, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "-p", join(web, "test/ladders"), "--outDir", folder], { stdio: "inherit" });
  cpSync(join(web, "dist/upsweep.wasm"), join(folder, "src/upsweep.wasm"));
  mkdirSync(join(folder, "page/wasm"));
  cpSync(join(web, "page/wasm/ladders.wasm"), join(folder, "page/wasm/ladders.wasm"));
  cpSync(join(web, "package.json"), join(folder, "package.json"));
  return {
    folder,
    engine: pathToFileURL(join(folder, "page/src/ladders.js")),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
