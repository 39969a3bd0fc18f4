// SPDX-License-Identifier: Apache-2.0
// The packed package in a fresh project: TypeScript, Vite's build and its server, and a plain folder without tools.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build, createLogger, createServer } from "vite";

import { openBrowser } from "./browser.mjs";
import { serve } from "./server.mjs";

const web = fileURLToPath(new URL("..", import.meta.url));
const project = mkdtempSync(join(tmpdir(), "upsweep-package-"));
const browser = await openBrowser();
after(async () => {
  await browser.close();
  rmSync(project, { recursive: true });
});

function run(program, ...words) {
  return execFileSync(program, words, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

// Vite warns of what bundlers should not have looked at.
const warnings = [];
const customLogger = Object.assign(createLogger("error"), {
  warn: (text) => warnings.push(text),
  warnOnce: (text) => warnings.push(text),
});

const WANTED = {
  buffer: [-2, 1, 4, 8],
  array: [-1, 2, 3],
  sum: 6,
  message: "shape.itemCount is no whole number from 0 to 9007199254740991.",
};

async function check(address) {
  const page = await browser.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(address);
  await page.waitForFunction(() => globalThis.result !== undefined);
  assert.deepEqual(await page.evaluate(() => globalThis.result), WANTED);
  assert.deepEqual(complaints, []);
  await page.close();
}

test("is packed with its types, its source maps and the planners, and nothing else", () => {
  const list = JSON.parse(run("npm", "pack", web, "--json", "--ignore-scripts", "--offline"));
  const [{ filename, files }] = Array.isArray(list) ? list : Object.values(list);
  const paths = files.map((file) => file.path);
  for (const name of [
    "README.md",
    "LICENSE",
    "package.json",
    "dist/index.js",
    "dist/index.d.ts",
    "dist/index.js.map",
  ]) {
    assert.ok(paths.includes(name), name);
  }
  assert.ok(paths.includes("dist/upsweep.wasm"));
  assert.deepEqual(
    paths.filter((path) => !/^(dist|src)\/[a-z_.]+$|^README.md$|^LICENSE$|^package.json$/.test(path)),
    [],
  );
  const wasm = readFileSync(join(web, "dist/upsweep.wasm"));
  const sizes = { wasm: wasm.length, brotli: brotliCompressSync(wasm).length, gzip: gzipSync(wasm).length };
  console.log("sizes", sizes);
  assert.ok(sizes.brotli < 200_000, `${sizes.brotli} bytes of compressed planners`);

  cpSync(join(web, "test/package"), project, { recursive: true });
  writeFileSync(join(project, "package.json"), '{ "name": "user", "private": true, "type": "module" }\n');
  run("npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", join(project, filename));
  assert.ok(statSync(join(project, "node_modules/upsweep/dist/upsweep.wasm")).size > 0);
  assert.deepEqual(
    readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith(".")),
    ["upsweep"],
    "it brings nothing else",
  );
  // The project's tools; they cannot be fetched here again.
  for (const tool of ["typescript", "vite"]) {
    symlinkSync(join(web, "node_modules", tool), join(project, "node_modules", tool));
  }
});

test("all that it is developed with is a tool, pinned by its hash", () => {
  const { packages } = JSON.parse(readFileSync(join(web, "package-lock.json"), "utf8"));
  const others = Object.entries(packages).filter(([path]) => path !== "");
  assert.ok(others.length > 10);
  for (const [path, { dev, devOptional, integrity }] of others) {
    assert.ok(dev === true || devOptional === true, `${path} would be installed with the package`);
    assert.match(String(integrity), /^sha512-/, path);
  }
});

test("compiles with strict TypeScript, which sees mistakes", () => {
  run(process.execPath, join(web, "node_modules/typescript/bin/tsc"), "-p", ".");
});

test("works when built by Vite", async () => {
  await build({ root: project, customLogger, base: "./", build: { target: "es2022" } });
  const server = await serve(join(project, "dist"));
  await check(server.address);
  server.close();
  assert.deepEqual(warnings, []);
});

test("works from Vite's server", async () => {
  const server = await createServer({ root: project, customLogger, server: { port: 0, host: "127.0.0.1" } });
  await server.listen();
  await check(`http://127.0.0.1:${server.httpServer.address().port}`);
  await server.close();
  assert.deepEqual(warnings, []);
});

test("works from a plain folder", async () => {
  const folder = join(project, "plain");
  mkdirSync(folder);
  cpSync(join(project, "node_modules/upsweep/dist"), join(folder, "upsweep"), { recursive: true });
  const page = `<!doctype html><title>plain</title><link rel="icon" href="data:," /><script type="module">
    import { Upsweep } from "./upsweep/index.js";
    const up = await Upsweep.create();
    globalThis.result = { array: [...(await up.sort.run(new Int32Array([3, -1, 2])))] };
  </script>`;
  writeFileSync(join(folder, "index.html"), page);
  const server = await serve(folder);
  const tab = await browser.newPage();
  await tab.goto(server.address);
  await tab.waitForFunction(() => globalThis.result !== undefined);
  assert.deepEqual(await tab.evaluate(() => globalThis.result), { array: [-1, 2, 3] });
  server.close();
});
