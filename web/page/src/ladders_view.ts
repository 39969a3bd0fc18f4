// SPDX-License-Identifier: Apache-2.0
// The ladders: bars that grow as results arrive.
import { choice, field, h, live, newId, rebuilt, refresh, show } from "./dom.js";
import type { LadderFamily, LadderResult, LadderStep, Ladders } from "./ladders.js";
import { duration, language, number, percent, t } from "./language.js";
import { errorBox } from "./notice.js";
import type { Session, Sessions } from "./session.js";
import { Job } from "./slices.js";
import { STEP_TEXTS, type StepText } from "./texts/steps.js";

const FAMILIES: readonly LadderFamily[] = ["reduce", "scan", "histogram", "sort", "spmv"];
const SIZES: Record<LadderFamily, { least: number; most: number; cpu: number; gpu: number }> = {
  reduce: { least: 12, most: 26, cpu: 18, gpu: 24 },
  scan: { least: 12, most: 26, cpu: 18, gpu: 24 },
  histogram: { least: 12, most: 26, cpu: 18, gpu: 24 },
  sort: { least: 12, most: 26, cpu: 14, gpu: 24 },
  spmv: { least: 12, most: 26, cpu: 16, gpu: 22 },
};

type Progress = "waiting" | "running" | "finished";

/** One step: its words, its bar, its kernels. */
class StepRow {
  readonly element: HTMLLIElement;
  readonly step: LadderStep;
  readonly #family: LadderFamily;
  readonly #bar = h("div", { class: "bar" });
  #progress: Progress = "waiting";
  #result: LadderResult | undefined;

  constructor(family: LadderFamily, step: LadderStep) {
    this.#family = family;
    this.step = step;
    this.element = h(
      "li",
      { class: step.id.startsWith("library") ? "step own" : "step", "data-step": step.id },
      h("h3", {}, () => this.title),
      h("div", { class: "track", "aria-hidden": "true" }, this.#bar),
      rebuilt(h("p", { class: "figures" }), () => this.#figures()),
      h("p", { class: "idea" }, () => this.#text?.idea ?? ""),
      step.wgsl.length > 0 && this.#kernels(),
    );
  }

  get #text(): StepText | undefined {
    return STEP_TEXTS[language()][`${this.#family}.${this.step.id}`];
  }
  get title(): string {
    return this.#text?.title ?? this.step.name;
  }
  get result(): LadderResult | undefined {
    return this.#result;
  }

  get isOnDevice(): boolean {
    return !this.step.id.startsWith("cpu");
  }
  /** How far the bar goes: of the copy rate, or of the best rate where there is none. */
  length(best: number): number {
    if (this.#result === undefined || !this.#result.valid) return 0;
    return this.#result.percentOfCopy ?? (best === 0 ? 0 : (100 * this.#result.rate) / best);
  }
  setBar(share: number): void {
    // The least that can be seen.
    this.#bar.style.width = share === 0 ? "0" : `${Math.min(100, Math.max(0.3, share))}%`;
  }
  update(progress: Progress, result?: LadderResult): void {
    this.#progress = progress;
    this.#result = result;
    this.element.classList.toggle("running", progress === "running");
    this.element.classList.toggle("wrong", result !== undefined && !result.valid);
    if (result === undefined) this.setBar(0);
    refresh(this.element);
  }

  #figures(): (string | HTMLElement)[] {
    const words = t().ladders;
    const { step } = this;
    const result = this.#result;
    if (!step.supported)
      return [words.unsupported, ...(step.reason === undefined ? [] : [": ", h("span", { lang: "en" }, step.reason)])];
    if (result === undefined) return [this.#progress === "running" ? words.running : words.notRun];
    if (!result.valid) return [h("strong", {}, words.wrong), result.message === undefined ? "" : `: ${result.message}`];
    const parts: (string | HTMLElement)[] = [h("strong", {}, `${number(result.rate, 3)} ${step.unit}`)];
    if (result.percentOfCopy !== undefined) parts.push(words.ofCopy(percent(result.percentOfCopy / 100)));
    parts.push(words.time(duration(result.microseconds), percent(result.spread)));
    if (result.bytesPerItem !== undefined) parts.push(words.bytesAnItem(number(result.bytesPerItem, 3)));
    parts.push(words.right);
    return parts.flatMap((part, i) => (i === 0 ? [part] : [" · ", part]));
  }

  #kernels(): HTMLElement {
    const { wgsl } = this.step;
    const texts = wgsl.map((text, i) => {
      const label = () => t().ladders.kernel(i + 1);
      return h(
        "pre",
        { class: "wgsl", tabindex: 0, role: "region", "aria-label": label, lang: "en" },
        h("code", {}, text),
      );
    });
    return h(
      "details",
      {},
      h("summary", {}, () => t().ladders.kernels(wgsl.length)),
      ...texts,
    );
  }
}

/** Ideas alone, for readers without a device. */
function ideas(family: LadderFamily): HTMLElement[] {
  const own = Object.entries(STEP_TEXTS[language()]).filter(([key]) => key.startsWith(`${family}.`));
  return own.map(([, text]) =>
    h("li", { class: "step" }, h("h3", {}, text.title), h("p", { class: "idea" }, text.idea)),
  );
}

export function laddersView(sessions: Sessions, isShown: () => boolean): HTMLElement {
  let family: LadderFamily = "reduce";
  let rows: StepRow[] = [];
  let ladders: { session: Session; opened: Promise<Ladders> } | undefined;
  let mostItems: (device: GPUDevice, family: LadderFamily) => number = () => Number.POSITIVE_INFINITY;
  let copyRate: number | undefined;
  let said: () => string = () => "";
  const exponents = new Map<LadderFamily, number>();
  const job = new Job();

  const list = h("ol", { class: "steps" });
  live(list, () => {
    if (rows.length === 0) list.replaceChildren(...ideas(family));
  });
  const problems = h("div", {});
  const status = live(h("p", { class: "status", role: "status" }), (line) => {
    line.textContent = said();
  });
  const copyLine = h("p", { class: "copy" }, () =>
    copyRate === undefined ? t().ladders.noCopyYet : t().ladders.copyRate(number(copyRate, 3)),
  );
  const meter = h("progress", { "aria-label": () => t().progress });
  const runButton = h("button", { type: "button", class: "primary", onclick: () => void run() }, () => t().run);
  const stopButton = h("button", { type: "button", onclick: () => job.stop() }, () => t().stop);
  const say = (text: () => string) => {
    said = text;
    refresh(status);
  };

  const sizes = h("select", { id: newId("size") });
  sizes.addEventListener("change", () => exponents.set(family, Number(sizes.value)));
  const sizeField = h("div", { class: "field" });
  rebuilt(sizeField, () => {
    const { least, most, cpu, gpu } = SIZES[family];
    const { session } = sessions;
    const isCpu = session?.up.traits.isCpu ?? true;
    const room = session === undefined ? most : Math.floor(Math.log2(mostItems(session.device, family)));
    const last = Math.min(most, room);
    const options = Array.from({ length: last - least + 1 }, (_, i) => least + i);
    sizes.replaceChildren(
      ...options.map((exponent) => h("option", { value: exponent }, `2^${exponent} = ${number(2 ** exponent)}`)),
    );
    sizes.value = String(Math.min(last, exponents.get(family) ?? (isCpu ? cpu : gpu)));
    return [h("label", { for: sizes.id }, family === "spmv" ? t().ladders.entries : t().ladders.items), sizes];
  });
  const families = choice(
    FAMILIES.map((value) => ({ value, label: () => t().ladders.families[value] })),
    family,
    (next) => {
      job.stop();
      family = next;
      copyRate = undefined;
      say(() => "");
      refresh(sizeField);
      refresh(about);
      refresh(copyLine);
      void showSteps();
    },
  );
  const about = h("p", { class: "about" }, () => t().ladders.about[family]);
  const hint = h("p", { class: "hint" }, () => t().ladders.cpuHint);
  const clockHint = h("p", { class: "hint" }, () => t().device.noTimestamps);
  const controls = h(
    "div",
    { class: "controls" },
    field(() => t().ladders.family, families),
    sizeField,
    h("div", { class: "buttons" }, runButton, stopButton),
  );

  const setRunning = (isRunning: boolean) => {
    runButton.disabled = isRunning;
    stopButton.disabled = !isRunning;
    show(meter, isRunning);
    list.setAttribute("aria-busy", String(isRunning));
  };
  setRunning(false);

  const open = (session: Session): Promise<Ladders> => {
    if (ladders?.session !== session) {
      const opened = import("./ladders.js").then((engine) => {
        ({ mostItems } = engine);
        refresh(sizeField);
        return engine.openLadders(session.device);
      });
      ladders = { session, opened };
      const dispose = () => void opened.then((one) => one.dispose()).catch(() => undefined);
      session.lost.addEventListener("abort", dispose);
    }
    return ladders.opened;
  };

  const showSteps = async (): Promise<void> => {
    const { session } = sessions;
    problems.replaceChildren();
    // The engine is fetched when somebody looks.
    if (session === undefined || !isShown()) {
      rows = [];
      refresh(list);
      return;
    }
    const wanted = family;
    say(() => t().ladders.loading);
    try {
      const steps = (await open(session)).steps(wanted);
      if (wanted !== family || sessions.session !== session) return;
      rows = steps.map((step) => new StepRow(wanted, step));
      list.replaceChildren(...rows.map((row) => row.element));
      say(() => "");
    } catch (error) {
      say(() => "");
      problems.replaceChildren(errorBox(error));
    }
  };

  const drawBars = () => {
    const best = Math.max(0, ...rows.map((row) => row.result?.rate ?? 0));
    // Few items stay in the CPU's cache: its bar may be cut off, those of the device are not.
    const longest = Math.max(100, ...rows.filter((row) => row.isOnDevice).map((row) => row.length(best)));
    for (const row of rows) row.setBar((100 * row.length(best)) / longest);
  };

  const finished = () => {
    const valid = rows.filter((row) => row.result?.valid === true);
    const best = valid.sort((a, b) => (b.result?.rate ?? 0) - (a.result?.rate ?? 0))[0];
    say(() => (best === undefined ? t().done : t().ladders.finished(best.title)));
  };

  const run = async (): Promise<void> => {
    const { session } = sessions;
    if (session === undefined || job.isRunning) return;
    const wanted = family;
    const items = 2 ** Number(sizes.value);
    setRunning(true);
    problems.replaceChildren();
    meter.removeAttribute("value");
    copyRate = undefined;
    refresh(copyLine);
    for (const row of rows) row.update("waiting");
    say(() => t().ladders.preparing);
    const stopped = () => say(() => t().stopped);
    try {
      const isDone = await job.run(async (signal) => {
        const opened = await open(session);
        signal.throwIfAborted();
        await opened.run(wanted, {
          items,
          signal,
          onCopy: (rate) => {
            if (wanted !== family) return;
            copyRate = rate;
            refresh(copyLine);
          },
          onProgress: (done, of, id) => {
            if (wanted !== family) return;
            meter.max = of;
            meter.value = done;
            const row = rows.find(({ step }) => step.id === id || step.name === id);
            for (const other of rows) {
              if (other.result === undefined) other.update(other === row ? "running" : "waiting");
            }
            say(() => t().ladders.progress(done, of, row?.title ?? id));
          },
          onResult: (result) => {
            if (wanted !== family) return;
            rows.find(({ step }) => step.id === result.stepId)?.update("finished", result);
            drawBars();
          },
        });
        signal.throwIfAborted();
      });
      if (isDone) finished();
      else stopped();
    } catch (error) {
      say(() => "");
      problems.replaceChildren(errorBox(error));
    } finally {
      for (const row of rows) if (row.result === undefined) row.update("waiting");
      setRunning(false);
    }
  };

  sessions.watch((state) => {
    if (state.kind === "lost") job.stop();
    const isReady = state.kind === "ready";
    show(controls, isReady);
    show(copyLine, isReady);
    show(hint, state.kind === "ready" && state.session.up.traits.isCpu);
    show(clockHint, state.kind === "ready" && !state.session.up.traits.timestamps);
    if (state.kind === "lost") return; // results stay where they are
    refresh(sizeField);
    void showSteps();
  });

  const view = h(
    "div",
    {},
    h("p", { class: "lead" }, () => t().ladders.intro),
    controls,
    about,
    hint,
    clockHint,
    meter,
    status,
    copyLine,
    problems,
    list,
  );
  // The section around this view is told.
  queueMicrotask(() => {
    view.parentElement?.addEventListener("shown", () => {
      if (rows.length === 0) void showSteps();
    });
  });
  return view;
}
