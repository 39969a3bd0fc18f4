// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

// Beside the package's sources there is no upsweep.wasm: it is built into web/dist.
function builtPlanners(): Plugin {
  return {
    name: "upsweep-planners",
    enforce: "pre",
    transform(code, id) {
      if (!id.endsWith("/web/src/planner.ts")) return undefined;
      return { code: code.replace('new URL("./upsweep.wasm"', 'new URL("../dist/upsweep.wasm"'), map: null };
    },
  };
}

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: folder("."),
  // Any folder of any file server.
  base: "./",
  plugins: [builtPlanners()],
  server: { fs: { allow: [folder("..")] } },
  build: { target: "es2022", outDir: "dist", emptyOutDir: true, sourcemap: true },
});
