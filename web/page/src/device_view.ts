// SPDX-License-Identifier: Apache-2.0
// Your device: what the browser says of it, what the probe found, and what both mean.
import type { Plan } from "../../src/index.js";
import { USED_FEATURES, USED_LIMITS } from "../../src/upsweep.js";
import { h, live, rebuilt, show } from "./dom.js";
import { bytes, number, t } from "./language.js";
import type { Session, Sessions } from "./session.js";

const PATH_ITEMS = 2 ** 22;

export function adapterName({ up }: Session): string {
  return up.traits.adapter || t().device.unnamed;
}

/** "32", or "8 to 32" where they may differ. */
function subgroupSize({ up }: Session): string {
  const { subgroupMinSize: least, subgroupMaxSize: most } = up.traits;
  const seen = up.probeReport.subgroupSize;
  if (least === 0 || least === most) return String(seen || most);
  return `${least}–${most}`;
}

function meaning(session: Session): string[] {
  const { up } = session;
  const { traits, probeReport: report } = up;
  const words = t().device;
  const lines = [traits.isCpu ? words.cpu : words.gpu];
  lines.push(traits.subgroups ? words.subgroups(subgroupSize(session)) : words.noSubgroups);
  if (traits.subgroups) lines.push(traits.subgroupIdsFollowIndex ? words.subgroupsOrdered : words.subgroupsUnordered);
  if (traits.lookBack) lines.push(words.lookBack);
  else lines.push(report.selfTestRan ? words.lookBackFailed : words.lookBackUntried);
  if (traits.lockStep) lines.push(words.lockStep);
  const items = Math.floor(Math.min(traits.maxBindingBytes, traits.maxBufferBytes) / 4);
  lines.push(words.largest(number(items), bytes(traits.maxBindingBytes)));
  lines.push(words.workgroup(number(traits.maxWorkgroupSize), bytes(traits.maxWorkgroupBytes)));
  lines.push(traits.f16 ? words.f16 : words.noF16);
  lines.push(traits.timestamps ? words.timestamps : words.noTimestamps);
  lines.push(report.keepsSubnormals ? words.subnormals : words.noSubnormals);
  if (!report.workgroupAtomics) lines.push(words.atomicsWrong);
  if (!report.integerDivision) lines.push(words.divisionWrong);
  return lines;
}

function paths({ up }: Session): { name: string; plan: Plan }[] {
  const itemCount = PATH_ITEMS;
  const bins = { kind: "even", count: 256, lower: 0, upper: 1 } as const;
  return [
    { name: "reduce", plan: up.reduce.plan({ itemCount, input: "u32" }) },
    { name: "scan", plan: up.scan.plan({ itemCount, input: "u32" }) },
    { name: "select", plan: up.select.plan({ itemCount, input: "u32", predicate: "x % 2u == 0u" }) },
    { name: "histogram", plan: up.histogram.plan({ itemCount, sample: "f32", bins }) },
    { name: "sort", plan: up.sort.plan({ itemCount, key: "u32" }) },
  ];
}

function table(caption: () => string, heads: readonly (() => string)[], rows: readonly HTMLElement[]): HTMLElement {
  return h(
    "div",
    { class: "scroller", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", {}, caption),
      h(
        "thead",
        {},
        h("tr", {}, ...heads.map((head, i) => h("th", { scope: "col", class: i === 0 ? "" : "figure" }, head))),
      ),
      h("tbody", {}, ...rows),
    ),
  );
}

function row(head: HTMLElement | string, ...cells: readonly (string | HTMLElement | (() => string))[]): HTMLElement {
  return h("tr", {}, h("th", { scope: "row" }, head), ...cells.map((cell) => h("td", { class: "figure" }, cell)));
}

function pathTable(session: Session): HTMLElement {
  const words = () => t().device;
  const rows = paths(session).map(({ name, plan }) => {
    const moved = plan.dispatches.reduce((sum, one) => sum + one.bytesRead + one.bytesWritten, 0);
    const kernels = h("td", {}, h("code", {}, [...new Set(plan.kernels.map((kernel) => kernel.name))].join(", ")));
    const line = row(h("code", {}, name), String(plan.dispatches.length), number(moved / PATH_ITEMS, 3));
    line.append(h("td", { class: "figure" }, number(plan.leastBytes / PATH_ITEMS, 3)), kernels);
    return line;
  });
  const heads = ["primitive", "dispatches", "bytesAnItem", "least", "kernels"] as const;
  const made = table(
    () => words().paths,
    heads.map((head) => () => words()[head]),
    rows,
  );
  made.querySelector("thead th:last-child")?.classList.remove("figure");
  return made;
}

function limitTable({ adapter, device }: Session): HTMLElement {
  const text = (name: (typeof USED_LIMITS)[number], value: number) =>
    /Size$/.test(name) && !/WorkgroupSize/.test(name) ? bytes(value) : number(value);
  const rows = USED_LIMITS.map((name) =>
    row(h("code", {}, name), text(name, adapter.limits[name]), text(name, device.limits[name])),
  );
  const words = () => t().device;
  return table(() => words().limits, [() => words().limit, () => words().offered, () => words().used], rows);
}

function names(all: Iterable<string>, marked: readonly string[] = []): HTMLElement {
  const list = [...all].sort();
  if (list.length === 0) return h("p", {}, () => t().device.none);
  return h(
    "ul",
    { class: "tags" },
    ...list.map((name) =>
      h(
        "li",
        { class: marked.includes(name) ? "marked" : "" },
        h("code", {}, name),
        marked.includes(name) && h("span", { class: "note" }, " ", () => t().device.featuresUsed),
      ),
    ),
  );
}

function languageFeatures(): Iterable<string> {
  return (navigator.gpu.wgslLanguageFeatures as Iterable<string> | undefined) ?? [];
}

function probeTable({ up }: Session): HTMLElement {
  const words = () => t().device;
  const report = up.probeReport;
  const rows = (Object.keys(words().probeRows) as (keyof ReturnType<typeof words>["probeRows"])[])
    .filter((name) => name !== "selfTestError" || report.selfTestError !== "")
    .filter((name) => report.selfTestRan || name !== "lookBack")
    .filter((name) => (report.selfTestRan && up.traits.adapterVendor === "nvidia") || name !== "lockStep")
    .map((name) => {
      const value = report[name];
      const shown = () => (typeof value === "boolean" ? (value ? words().yes : words().no) : String(value));
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, () => words().probeRows[name]),
        h("td", {}, shown),
      );
    });
  return h(
    "table",
    {},
    h("caption", {}, () => words().probe),
    h("tbody", {}, ...rows),
  );
}

// Older browsers do not tell.
function infoOf(adapter: GPUAdapter): Partial<GPUAdapterInfo> {
  return adapter.info ?? {};
}

function facts(session: Session): HTMLElement {
  const info = infoOf(session.adapter);
  const words = t().device;
  const rows: [string, string | undefined][] = [
    [words.adapter, adapterName(session)],
    [words.kind, session.up.traits.isCpu ? words.kindCpu : words.kindGpu],
    [words.vendor, info.vendor],
    [words.architecture, info.architecture],
    [words.model, info.device],
    [words.description, info.description],
    [words.subgroupSizes, session.up.traits.subgroups ? subgroupSize(session) : words.none],
  ];
  const known = rows.filter(([, value]) => Boolean(value)) as [string, string][];
  return h("dl", { class: "facts" }, ...known.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** Everything as data, for a report of an error. */
function report({ adapter, device, up }: Session): string {
  const info = infoOf(adapter);
  const limits = (from: GPUSupportedLimits) => Object.fromEntries(USED_LIMITS.map((name) => [name, from[name]]));
  const all = {
    browser: navigator.userAgent,
    adapter: {
      vendor: info.vendor,
      architecture: info.architecture,
      device: info.device,
      description: info.description,
    },
    features: { adapter: [...adapter.features].sort(), device: [...device.features].sort() },
    languageFeatures: [...languageFeatures()].sort(),
    limits: { adapter: limits(adapter.limits), device: limits(device.limits) },
    traits: up.traits,
    probe: up.probeReport,
  };
  return JSON.stringify(all, undefined, 2);
}

function copyButton(session: Session): HTMLElement {
  let outcome: "copied" | "notCopied" | undefined;
  const status = h("span", { role: "status" });
  live(status, () => {
    status.textContent = outcome === undefined ? "" : t().device[outcome];
  });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(report(session));
      outcome = "copied";
    } catch {
      outcome = "notCopied";
    }
    status.textContent = t().device[outcome];
  };
  return h(
    "p",
    {},
    h("button", { type: "button", onclick: () => void copy() }, () => t().device.copy),
    " ",
    status,
  );
}

export function deviceView(sessions: Sessions): HTMLElement {
  const content = h("div", { class: "stack" });
  sessions.watch((state) => {
    if (state.kind !== "ready") {
      show(content, state.kind === "lost");
      return;
    }
    const { session } = state;
    const words = () => t().device;
    content.replaceChildren(
      rebuilt(h("div", {}), () => [facts(session)]),
      h("h3", {}, () => words().meaning),
      rebuilt(h("ul", { class: "plain" }), () => meaning(session).map((line) => h("li", {}, line))),
      h("h3", {}, () => words().paths),
      rebuilt(h("p", {}), () => [words().pathsIntro(number(PATH_ITEMS))]),
      rebuilt(h("div", {}), () => [pathTable(session)]),
      h("h3", {}, () => words().limits),
      h("p", {}, () => words().limitsIntro),
      rebuilt(h("div", {}), () => [limitTable(session)]),
      h("h3", {}, () => words().features),
      names(
        session.adapter.features,
        USED_FEATURES.filter((name) => session.device.features.has(name)),
      ),
      h("h3", {}, () => words().languageFeatures),
      names(languageFeatures()),
      h("h3", {}, () => words().probe),
      probeTable(session),
      copyButton(session),
    );
    show(content, true);
  });
  return h(
    "div",
    {},
    h("p", { class: "lead" }, () => t().device.intro),
    content,
  );
}
