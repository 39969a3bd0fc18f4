// SPDX-License-Identifier: Apache-2.0
// The built page in Chromium on SwiftShader, from a folder of a file server.
// UPSWEEP_SCREENSHOTS=FOLDER keeps pictures of all sections, light and dark, in both languages.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createServer } from "vite";

import { openBrowser, openPlainBrowser } from "./browser.mjs";
import { serve } from "./server.mjs";

const web = fileURLToPath(new URL("..", import.meta.url));
const server = await serve(web);
const address = `${server.address}/page/dist/`;
const browser = await openBrowser("--use-angle=vulkan");
const complaints = [];
const requests = [];
after(async () => {
  await browser.close();
  server.close();
});

const LONG = { timeout: 120_000 };

async function open(hash, options = {}, from = browser, url = address) {
  const { lang = "en", ...rest } = options;
  const context = await from.newContext({ viewport: { width: 1200, height: 900 }, ...rest });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error.stack)));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(`${url}?lang=${lang}#${hash}`);
  return page;
}

const ready = (page) => page.waitForSelector(".state[data-state=ready]");

async function picture(page, name) {
  const folder = process.env.UPSWEEP_SCREENSHOTS;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Dark, and in Chinese, of what the page shows now. */
async function pictures(page, name) {
  await picture(page, `${name}_light`);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.click(".languages button[lang=zh]");
  await picture(page, `${name}_dark_zh`);
  await page.click(".languages button[lang=en]");
  await page.emulateMedia({ colorScheme: "light" });
}

/** Controls without a name that screen readers could say. */
function unnamed(page) {
  return page.evaluate(() => {
    const controls = [...document.querySelectorAll("button, input, select, textarea, a, [role=region], [role=img]")];
    const name = (one) =>
      one.getAttribute("aria-label") ?? [...(one.labels ?? [])].map((label) => label.textContent).join("");
    return controls
      .filter((one) => one.checkVisibility() && `${name(one)}${one.matches("a, button") ? one.textContent : ""}` === "")
      .map((one) => one.outerHTML);
  });
}

describe("your device", () => {
  let page;
  before(async () => {
    page = await open("device");
    await ready(page);
  });
  after(() => page.context().close());

  test("shows the adapter, its limits and features as the browser has them", async () => {
    const wanted = await page.evaluate(async () => {
      const adapter = await navigator.gpu.requestAdapter();
      return {
        architecture: adapter.info.architecture,
        threads: adapter.limits.maxComputeInvocationsPerWorkgroup,
        features: [...adapter.features].sort(),
        language: [...navigator.gpu.wgslLanguageFeatures].sort(),
      };
    });
    assert.match(await page.locator(".facts").textContent(), new RegExp(wanted.architecture));
    const row = page.locator("tr", { hasText: "maxComputeInvocationsPerWorkgroup" });
    assert.deepEqual(await row.locator("td").allInnerTexts(), Array(2).fill(wanted.threads.toLocaleString("en")));
    const lists = await page.locator(".tags").all();
    assert.deepEqual(await lists[0].locator("code").allInnerTexts(), wanted.features);
    assert.deepEqual(await lists[1].locator("code").allInnerTexts(), wanted.language);
  });

  test("says what the probe means, and which paths follow", async () => {
    const meaning = await page.locator(".plain").textContent();
    assert.match(meaning, /program on the CPU/);
    assert.match(meaning, /subgroups of 4 threads/);
    assert.match(meaning, /not tried on software adapters: scans and selections take two passes/);
    const scan = page.locator("tr", { has: page.locator("th code", { hasText: /^scan$/ }) });
    assert.deepEqual(await scan.locator("td").allInnerTexts(), ["2", "12", "8", "scan_totals, scan_chunks"]);
    assert.match(await page.locator("tr", { hasText: "Subgroup size seen" }).textContent(), /4$/);
    assert.deepEqual(await unnamed(page), []);
    await pictures(page, "device");
  });

  test("changes its language, and keeps it", async () => {
    await page.click(".languages button[lang=zh]");
    assert.equal(await page.getAttribute("html", "lang"), "zh-CN");
    assert.equal(await page.textContent("#device-title"), "您的设备");
    assert.match(await page.textContent(".plain"), /4 个线程的子组/);
    assert.equal(new URL(page.url()).searchParams.get("lang"), "zh");
    assert.equal(await page.title(), "upsweep：浏览器里的并行原语");
    await page.goto(`${address}#device`);
    await ready(page);
    assert.equal(await page.textContent("#device-title"), "您的设备");
    await page.click(".languages button[lang=en]");
    assert.equal(await page.textContent("#device-title"), "Your device");
    assert.match(await page.textContent(".plain"), /subgroups of 4 threads/);
  });

  test("goes through sections by keyboard", async () => {
    await page.keyboard.press("Tab"); // from the button pressed last
    for (let i = 0; i < 12 && (await page.evaluate(() => document.activeElement.hash)) !== "#ladders"; ++i) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.id === "ladders-title");
    assert.equal(await page.locator("nav a[aria-current=page]").textContent(), "Ladders");
    assert.ok(await page.isHidden("#device"));
  });

  test("no section is wider than a narrow window", async () => {
    const size = page.viewportSize();
    await page.setViewportSize({ width: 320, height: 640 });
    for (const section of ["device", "ladders", "playground", "demo", "device"]) {
      await page.click(`nav a[href='#${section}']`);
      await page.waitForSelector(`#${section}-title:focus`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, section);
    }
    await page.setViewportSize(size);
  });

  test("a lost device is said, and opened again", async () => {
    await page.evaluate(() => globalThis.upsweep.device.destroy());
    const again = page.getByRole("button", { name: "Open it again" });
    await again.waitFor();
    assert.match(await page.getByRole("alert").first().textContent(), /The device was lost/);
    await again.click();
    await ready(page);
    assert.equal(await page.evaluate(() => globalThis.upsweep.reduce.run(new Uint32Array([1, 2]))), 3);
  });
});

describe("ladders", () => {
  let page;
  const status = () => page.locator("#ladders .status").textContent();
  before(async () => {
    page = await open("ladders");
    await ready(page);
    await page.waitForSelector("#ladders .step[data-step]");
  });
  after(() => page.context().close());
  const runButton = () => page.locator("#ladders button.primary");
  const choose = async (family) => {
    await page.getByLabel("Ladder", { exact: true }).selectOption(family);
    await page.waitForFunction(() => document.querySelector("#ladders .status").textContent === "");
  };

  test("every step has its idea in two sentences in each language, and kernels", async () => {
    for (const family of ["reduce", "scan", "histogram", "sort", "spmv"]) {
      await choose(family);
      for (const [lang, end] of [
        ["zh", /[。？！]/g],
        ["en", /[.?!](?=\s|$)/g],
      ]) {
        await page.click(`.languages button[lang=${lang}]`);
        const steps = await page.locator("#ladders .step").evaluateAll((all) =>
          all.map((one) => ({
            id: one.dataset.step,
            idea: one.querySelector(".idea").textContent,
            kernels: one.querySelectorAll("pre").length,
          })),
        );
        assert.ok(steps.length >= 4, family);
        for (const { id, idea, kernels } of steps) {
          assert.equal(idea.match(end)?.length, 2, `${family}.${id} in ${lang}: "${idea}"`);
          assert.ok(kernels > 0 || id.startsWith("cpu"), `${family}.${id} shows no WGSL`);
        }
      }
    }
    await choose("reduce");
  });

  test("a run makes bars and right results", async () => {
    await page.getByLabel("Items", { exact: true }).selectOption("12");
    await runButton().click();
    await page.waitForFunction(() => document.querySelector("#ladders .status").textContent.startsWith("Done."), LONG);
    const steps = await page.locator("#ladders .step").evaluateAll((all) =>
      all.map((one) => ({
        figures: one.querySelector(".figures").textContent,
        width: Number.parseFloat(one.querySelector(".bar").style.width),
      })),
    );
    for (const { figures, width } of steps) {
      assert.match(figures, /^[\d.,]+ GB\/s · [\d.,]+% of copy · .* · result right$/);
      assert.ok(width > 0 && width <= 100, figures);
    }
    assert.match(await page.textContent("#ladders .copy"), /^Copying memory on this device.*: [\d.,]+ GB\/s/);
    assert.deepEqual(await unnamed(page), []);
    await pictures(page, "ladders");
  });

  test("a run can be stopped", async () => {
    await page.getByLabel("Items", { exact: true }).selectOption("22");
    await runButton().click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.waitForFunction(() => document.querySelector("#ladders .status").textContent === "Stopped.", LONG);
    assert.equal(await status(), "Stopped.");
    await page.waitForSelector("#ladders button.primary:enabled");
  });

  test("a device that is lost in a run ends it; another one goes on", async () => {
    await runButton().click();
    await page.evaluate(() => globalThis.upsweep.device.destroy());
    await page.getByRole("button", { name: "Open it again" }).click();
    await ready(page);
    await page.waitForSelector("#ladders .step[data-step]");
    await page.waitForSelector("#ladders progress", { state: "hidden" });
    await page.getByLabel("Items", { exact: true }).selectOption("12");
    await runButton().click();
    await page.waitForFunction(() => document.querySelector("#ladders .status").textContent.startsWith("Done."), LONG);
    assert.deepEqual(await page.locator("#ladders .notice").allInnerTexts(), []);
  });
});

describe("a device without clock, subgroups and f16", () => {
  test("runs all the same, and the page says whose clock it is", async () => {
    const page = await open("ladders", {}, browser, "about:blank");
    await page.addInitScript(() => {
      Object.defineProperty(GPUAdapter.prototype, "features", { get: () => new Set() });
    });
    await page.goto(`${address}#ladders`);
    await ready(page);
    await page.waitForSelector("#ladders .step[data-step]");
    await page.locator("#ladders .hint", { hasText: "figures here come from the browser's clock" }).waitFor();
    await page.getByLabel("Items", { exact: true }).selectOption("12");
    await page.click("#ladders button.primary");
    await page.waitForFunction(() => document.querySelector("#ladders .status").textContent.startsWith("Done."), LONG);
    assert.match((await page.locator("#ladders .figures").allInnerTexts()).at(-1), /result right$/);
    await page.click("nav a[href='#playground']");
    await page.click("#playground button.primary");
    assert.match(await page.textContent("#playground .time"), /by the browser's clock/);
    await page.context().close();
  });
});

describe("playground", () => {
  let page;
  before(async () => {
    page = await open("playground");
    await ready(page);
  });
  after(() => page.context().close());
  const field = (label) => page.locator("#playground").getByLabel(label, { exact: true });
  const run = async () => {
    const button = page.locator("#playground button.primary");
    await button.click();
    await page.waitForFunction(() => !document.querySelector("#playground button.primary").disabled, LONG);
  };
  const verdict = () => page.locator("#playground .verdict").textContent();
  const RIGHT = "The same as plain JavaScript computes.";

  test("runs every primitive, with the result that JavaScript computes", async () => {
    await field("Number of items").fill("3000");
    const names = await field("Primitive")
      .locator("option")
      .evaluateAll((all) => all.map((one) => one.value));
    assert.equal(names.length, 15);
    for (const name of names) {
      await field("Primitive").selectOption(name);
      await run();
      assert.deepEqual(await page.locator("#playground .notice").allInnerTexts(), [], name);
      assert.equal(await verdict(), RIGHT, name);
      assert.match(await page.textContent("#playground .plan"), /^plan /);
    }
  });

  test("sums of floats agree up to rounding", async () => {
    await field("Primitive").selectOption("scan");
    await field("Type of the items").selectOption("f32");
    await run();
    assert.match(await verdict(), /in double precision, up to rounding/);
    assert.match(await page.textContent("#playground .time"), /^[\d.,]+ (µs|ms|s) a run/);
    await field("Type of the items").selectOption("u32");
  });

  test("runs an operator in WGSL, and says what it cannot compare", async () => {
    await field("Operator").selectOption("lastSet");
    await run();
    assert.equal(await verdict(), RIGHT);
    const text = await field("WGSL").inputValue();
    await field("WGSL").fill(text.replace("return b;", "return b + 0u;"));
    await run();
    assert.match(await verdict(), /Not compared/);
    assert.deepEqual(await unnamed(page), []);
    await pictures(page, "playground");
  });

  test("names the operator and the line of a mistake, and runs once it is mended", async () => {
    await field("Operator").selectOption("broken");
    await run();
    const alert = page.locator("#playground [role=alert]");
    assert.match(await alert.textContent(), /operator "broken":3: .*'c'/);
    assert.equal(await page.locator("#playground .gutter .marked").textContent(), "3");
    assert.equal(await field("WGSL").getAttribute("aria-invalid"), "true");
    await picture(page, "playground_error");
    await field("WGSL").fill("fn open(a: u32, b: u32) -> u32 {\n  return a");
    await run();
    assert.match(await alert.textContent(), /cannot be done as asked.*operator "open":2: brackets are opened/s);
    assert.equal(await page.locator("#playground .gutter .marked").textContent(), "2");
    await field("WGSL").fill("fn mended(a: u32, b: u32) -> u32 {\n  return a + b;\n}");
    await run();
    assert.equal(await alert.count(), 0);
    assert.equal(await page.locator("#playground .gutter .marked").count(), 0);
    await field("Primitive").selectOption("select");
    await field("WGSL").fill("x > nope");
    await run();
    assert.match(await alert.textContent(), /predicate expression:1: .*'nope'/);
    assert.equal(await page.locator("#playground .gutter .marked").textContent(), "1");
  });

  test("stops when told to, and runs again", async () => {
    await field("Primitive").selectOption("histogram");
    await field("Number of items").fill("16000000");
    await page.locator("#playground button.primary").click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.waitForFunction(() => document.querySelector("#playground .status").textContent === "Stopped.");
    assert.equal(await page.locator("#playground .verdict").count(), 0);
    await field("Number of items").fill("3000");
    await run();
    assert.equal(await verdict(), RIGHT);
  });

  test("refuses sizes that are none", async () => {
    await field("Number of items").fill("0");
    await page.locator("#playground button.primary").click();
    assert.match(await page.locator("#playground [role=alert]").textContent(), /whole number from 1 to 16,777,216/);
    assert.equal(await page.evaluate(() => document.activeElement.type), "number");
  });
});

describe("demo", () => {
  let page;
  before(async () => {
    page = await open("demo", { deviceScaleFactor: 0.5 });
    await ready(page);
  });
  after(() => page.context().close());
  const frames = () => page.evaluate(() => Number(document.querySelector("canvas").dataset.frames ?? 0));
  const reach = (count) =>
    page.waitForFunction((least) => Number(document.querySelector("canvas").dataset.frames) >= least, count, LONG);
  /** How many colours the picture has, and where its light is. */
  const look = async () => {
    const png = (await page.locator("canvas").screenshot()).toString("base64");
    return page.evaluate(async (data) => {
      const blob = await (await fetch(`data:image/png;base64,${data}`)).blob();
      const bitmap = await createImageBitmap(blob);
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      context.drawImage(bitmap, 0, 0);
      const words = new Uint32Array(context.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer);
      return { colours: new Set(words).size, words: [...words] };
    }, png);
  };

  test("draws particles that move, until it is paused", async () => {
    await reach(8);
    const first = await look();
    assert.ok(first.colours > 50, `${first.colours} colours`);
    await reach((await frames()) + 8);
    const second = await look();
    const moved = second.words.filter((word, i) => word !== first.words[i]).length;
    assert.ok(moved > 200, `${moved} pixels changed`);
    assert.match(await page.textContent("#demo output"), /^[\d,]+ in [\d,]+ cells$/);
    await page.waitForSelector("#demo .stages table");
    await pictures(page, "demo");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.waitForFunction(() => document.querySelector("#demo .status").textContent === "Paused.");
    const still = await frames();
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(await frames(), still);
    await page.getByRole("button", { name: "One frame" }).click();
    await reach(still + 1);
    assert.deepEqual(await unnamed(page), []);
  });

  test("takes another number of particles, by keyboard", async () => {
    const slider = page.getByRole("slider");
    await slider.focus();
    const before = await frames();
    await page.keyboard.press("Home");
    await page.waitForFunction(() => document.querySelector("#demo output").textContent.startsWith("1,024 in"));
    await reach(before + 1);
    assert.equal(await slider.getAttribute("aria-valuetext"), "1,024 in 256 cells");
  });

  test("stands still for readers who want less motion", async () => {
    const still = await open("demo", { reducedMotion: "reduce", deviceScaleFactor: 0.5 });
    await ready(still);
    await still.waitForFunction(() => document.querySelector("#demo .status").textContent === "Paused.", LONG);
    await still.getByRole("button", { name: "Start", exact: true }).waitFor();
    await still.context().close();
  });
});

describe("without WebGPU", () => {
  let other;
  before(async () => {
    other = await openPlainBrowser("--host-resolver-rules=MAP page.test 127.0.0.1");
  });
  after(() => other.close());

  test("says that there is no adapter, and still explains the steps", async () => {
    const page = await open("ladders", {}, other);
    const alert = page.getByRole("alert").first();
    await alert.getByText("WebGPU is missing here").waitFor();
    assert.match(await alert.textContent(), /found no graphics adapter that it trusts/);
    assert.ok((await page.locator("#ladders .step .idea").count()) > 4);
    assert.ok(await page.isHidden("#ladders button.primary"));
    await page.click("nav a[href='#playground']");
    await page.waitForSelector("#playground .hint");
    await pictures(page, "missing");
    await page.click(".languages button[lang=zh]");
    assert.match(await alert.textContent(), /这里没有 WebGPU/);
  });

  test("says that the browser has none", async () => {
    const page = await open("device");
    await page.addInitScript(() => {
      delete Navigator.prototype.gpu;
    });
    await page.reload();
    await page.getByText("This browser has no WebGPU, or it is switched off").waitFor();
    await page.context().close();
  });

  test("says that an insecure address is why", async () => {
    const insecure = address.replace("127.0.0.1", "page.test");
    const page = await open("device", {}, other, insecure);
    await page.getByText("only to pages that come over https").waitFor();
  });
});

test("checks of the playground see wrong results", async () => {
  const vite = await createServer({
    configFile: join(web, "page/vite.config.ts"),
    logLevel: "error",
    server: { middlewareMode: true, ws: false },
  });
  try {
    const checks = await vite.ssrLoadModule("/src/playground_checks.ts");
    const { presetsOf } = await vite.ssrLoadModule("/src/playground_operators.ts");
    const { signal } = new AbortController();
    const u32 = (...items) => new Uint32Array(items);
    const sum = presetsOf("operator", "u32").find(({ name }) => name === "sum");
    const items = u32(3, 1, 2 ** 32 - 1, 2);
    const kind = async (promise) => (await promise).kind;
    const right = [
      () => checks.checkReduce(items, u32(5), sum, "u32", signal),
      () => checks.checkScan(items, u32(3, 4, 3, 5), sum, "u32", false, signal),
      () => checks.checkScan(items, u32(0, 3, 4, 3), sum, "u32", true, signal),
      () => checks.checkOrder([items], u32(1, 2, 3, 2 ** 32 - 1), "k", (a, b) => a < b, signal),
      () => checks.checkSelect(items, u32(3, 1), 2, (x) => x === 3 || x === 1, false, signal),
      () => checks.checkTopK(items, u32(1, 2), u32(1, 3), 2, false, signal),
      () => checks.checkSearch(u32(1, 2, 2), u32(2, 0), u32(1, 0), signal),
      () => checks.checkHistogram(u32(0, 5, 9), u32(1, 2), { count: 2, lower: 0, upper: 10 }, signal),
      () => checks.checkDifference(u32(3, 1), u32(3, 2 ** 32 - 2), (x, y) => x - y, "u32", signal),
      () =>
        checks.checkRuns(u32(4, 4, 1), { name: "v", values: u32(4, 1), lengths: u32(2, 1) }, (a, b) => a === b, signal),
      () => checks.checkReduceByKey(u32(1, 1, 2), u32(5, 6, 7), u32(11, 7), sum, "u32", signal),
      () => checks.checkIsSorted(u32(1, 2), u32(1), (a, b) => a < b, signal),
    ];
    for (const check of right) assert.equal(await kind(check()), "right", String(check));
    const wrong = [
      () => checks.checkReduce(items, u32(6), sum, "u32", signal),
      () => checks.checkScan(items, u32(3, 4, 4, 5), sum, "u32", false, signal),
      () => checks.checkScan(items, u32(0, 3, 4), sum, "u32", true, signal),
      () => checks.checkOrder([items], u32(1, 2, 2, 2 ** 32 - 1), "k", (a, b) => a < b, signal),
      () => checks.checkOrder([items], u32(2, 1, 3, 2 ** 32 - 1), "k", (a, b) => a < b, signal),
      () => checks.checkSelect(items, u32(3, 2), 2, (x) => x === 3 || x === 1, false, signal),
      () => checks.checkSelect(items, u32(3), 1, (x) => x === 3 || x === 1, false, signal),
      () => checks.checkTopK(items, u32(1, 3), u32(1, 0), 2, false, signal),
      () => checks.checkTopK(items, u32(1, 1), u32(1, 1), 2, false, signal),
      () => checks.checkSearch(u32(1, 2, 2), u32(2, 0), u32(2, 0), signal),
      () => checks.checkHistogram(u32(0, 5, 9), u32(2, 1), { count: 2, lower: 0, upper: 10 }, signal),
      () => checks.checkDifference(u32(3, 1), u32(3, 2), (x, y) => x - y, "u32", signal),
      () =>
        checks.checkRuns(u32(4, 4, 1), { name: "v", values: u32(4, 1), lengths: u32(1, 2) }, (a, b) => a === b, signal),
      () => checks.checkReduceByKey(u32(1, 1, 2), u32(5, 6, 7), u32(11, 8), sum, "u32", signal),
      () => checks.checkIsSorted(u32(2, 1), u32(1), (a, b) => a < b, signal),
    ];
    for (const check of wrong) assert.equal(await kind(check()), "wrong", String(check));
    const { STEP_TEXTS } = await vite.ssrLoadModule("/src/texts/steps.ts");
    assert.deepEqual(Object.keys(STEP_TEXTS.zh), Object.keys(STEP_TEXTS.en));
  } finally {
    await vite.close();
  }
});

test("nothing complained, and nothing was fetched from elsewhere", () => {
  // What the browser itself prints of the shaders that were meant to be broken, and where it has no adapter.
  assert.deepEqual(
    complaints.filter((text) => !/unresolved value '(c|nope)'|No available adapters/.test(text)),
    [],
  );
  const elsewhere = requests.filter(
    (url) => !/^(http:\/\/(127\.0\.0\.1|page\.test):\d+\/page\/dist\/|blob:|data:)/.test(url),
  );
  assert.deepEqual(elsewhere, []);
});
