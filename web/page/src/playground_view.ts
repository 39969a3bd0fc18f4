// SPDX-License-Identifier: Apache-2.0
// The playground: choose, write, run, look.
import { UpsweepError } from "../../src/index.js";
import { field, h, choice as list, live, rebuilt, refresh, show } from "./dom.js";
import { Editor } from "./editor.js";
import { duration, number, t } from "./language.js";
import { errorBox } from "./notice.js";
import type { Mismatch, Verdict } from "./playground_checks.js";
import { DISTRIBUTIONS, type Distribution, type Items, TYPES, type TypeName } from "./playground_data.js";
import { type Preset, presetsOf } from "./playground_operators.js";
import {
  type Choice,
  type Extra,
  makeTrial,
  NoFunctionError,
  type Outputs,
  PRIMITIVES,
  type PrimitiveName,
  ROOMS,
  type Trial,
} from "./playground_trials.js";
import { BoundPlan, type Timing } from "./run_trial.js";
import type { Session, Sessions } from "./session.js";
import { abortable, Job } from "./slices.js";

const MOST_ITEMS = 2 ** 24;
const BIN_COUNTS = ["4", "16", "64", "256", "1024", "4096"] as const;
type Phase = keyof ReturnType<typeof t>["playground"]["phases"];

interface Found {
  readonly choice: Choice;
  readonly trial: Trial;
  readonly outputs: Outputs;
  readonly verdict: Verdict;
  readonly compileMs: number;
  readonly timing: Timing;
}

/** The form and what it says. */
class Form {
  readonly element: HTMLElement;
  #primitive: PrimitiveName = "reduce";
  #type: TypeName = "u32";
  #preset: Preset | undefined;
  #isEdited = false;

  readonly #sizes = h("input", { type: "number", min: 1, step: 1, required: true, inputmode: "numeric" });
  readonly #distributions = list(
    DISTRIBUTIONS.map((value) => ({ value, label: () => t().playground.distributions[value] })),
    "uniform" as Distribution,
    () => undefined,
  );
  readonly #presets = h("select", { onchange: () => this.#takePreset() });
  readonly #identity = h("input", { type: "text", spellcheck: "false", autocomplete: "off", lang: "en" });
  readonly #commutative = h("input", { type: "checkbox" });
  readonly #exclusive = list(
    [
      { value: "inclusive", label: () => t().playground.inclusive },
      { value: "exclusive", label: () => t().playground.exclusive },
    ],
    "inclusive",
    () => undefined,
  );
  readonly #descending = h("input", { type: "checkbox" });
  readonly #largest = h("input", { type: "checkbox", checked: true });
  readonly #k = h("input", { type: "number", min: 1, max: 1024, step: 1, value: 10, inputmode: "numeric" });
  readonly #bins = list(
    BIN_COUNTS.map((value) => ({ value, label: () => value })),
    "64",
    () => undefined,
  );
  readonly editor: Editor;
  readonly #presetField: HTMLElement;
  readonly #operatorFields: HTMLElement;
  readonly #extraFields: Readonly<Record<Extra, HTMLElement>>;

  constructor() {
    const words = () => t().playground;
    this.editor = new Editor(
      () => words().editor,
      () => {
        const kind = ROOMS[this.#primitive].text;
        return kind === undefined ? "" : words().editorHints[kind];
      },
      () => {
        this.#isEdited = true;
      },
    );
    const primitives = list(
      PRIMITIVES.map((value) => ({ value, label: () => words().primitives[value] })),
      this.#primitive,
      (value) => {
        this.#primitive = value;
        this.#distributions.value = ROOMS[value].distribution ?? "uniform";
        this.#listPresets();
      },
    );
    const types = list(
      TYPES.map((value) => ({ value, label: () => value })),
      this.#type,
      (value) => {
        this.#type = value;
        this.#listPresets();
      },
    );
    this.#presetField = field(() => {
      const kind = ROOMS[this.#primitive].text ?? "operator";
      return words()[kind];
    }, this.#presets);
    this.#operatorFields = h(
      "div",
      { class: "controls" },
      field(() => words().identity, this.#identity),
      check(() => words().commutative, this.#commutative),
    );
    this.#extraFields = {
      exclusive: field(() => words().kind, this.#exclusive),
      descending: check(() => words().descending, this.#descending),
      largest: check(() => words().largest, this.#largest),
      k: field(() => words().k, this.#k),
      bins: field(() => words().bins, this.#bins),
    };
    this.element = h(
      "div",
      { class: "form" },
      h(
        "div",
        { class: "controls" },
        field(() => words().primitive, primitives),
        field(() => words().type, types),
        field(
          () => words().size,
          this.#sizes,
          () => words().sizeHint(number(this.mostItems)),
        ),
        field(() => words().distribution, this.#distributions),
        this.#presetField,
        ...Object.values(this.#extraFields),
      ),
      this.editor.element,
      this.#operatorFields,
    );
    live(this.#presets, () => this.#nameOptions());
    this.#listPresets();
  }

  mostItems = MOST_ITEMS;

  adopt({ up }: Session): void {
    this.mostItems = Math.min(MOST_ITEMS, Math.floor(up.traits.maxBindingBytes / 4));
    this.#sizes.max = String(this.mostItems);
    if (this.#sizes.value === "") this.#sizes.value = String(up.traits.isCpu ? 2 ** 14 : 2 ** 20);
    refresh(this.element);
  }

  /** Undefined, with the reader's attention on the field, where the number of items is none. */
  read(): Choice | undefined {
    const items = Number(this.#sizes.value);
    const isWhole = Number.isInteger(items) && items >= 1 && items <= this.mostItems;
    this.#sizes.setAttribute("aria-invalid", String(!isWhole));
    if (!isWhole) {
      this.#sizes.focus();
      return undefined;
    }
    return {
      primitive: this.#primitive,
      type: this.#type,
      items,
      distribution: this.#distributions.value as Distribution,
      preset: this.#preset,
      text: this.editor.value,
      isEdited: this.#isEdited,
      identity: this.#identity.value,
      isCommutative: this.#commutative.checked,
      isExclusive: this.#exclusive.value === "exclusive",
      isDescending: this.#descending.checked,
      isLargest: this.#largest.checked,
      k: Math.min(1024, Math.max(1, Math.floor(Number(this.#k.value)) || 1)),
      bins: Number(this.#bins.value),
    };
  }

  #listPresets(): void {
    const { text, extras } = ROOMS[this.#primitive];
    show(this.#presetField, text !== undefined);
    for (const [name, element] of Object.entries(this.#extraFields)) {
      show(element, extras?.includes(name as Extra) === true);
    }
    const wanted = this.#presets.value;
    const presets = text === undefined ? [] : presetsOf(text, this.#type, this.#primitive === "reduce");
    this.#presets.replaceChildren(...presets.map(({ name }) => h("option", { value: name })));
    this.#nameOptions();
    const known = presets.some(({ name }) => name === wanted);
    this.#presets.value = known ? wanted : (presets[0]?.name ?? "");
    this.#takePreset(presets);
    refresh(this.element);
  }
  #nameOptions(): void {
    for (const option of this.#presets.options) {
      option.textContent = t().playground.presets[option.value as Preset["name"]];
    }
  }
  #takePreset(from?: readonly Preset[]): void {
    const { text: kind } = ROOMS[this.#primitive];
    const presets = from ?? (kind === undefined ? [] : presetsOf(kind, this.#type, this.#primitive === "reduce"));
    this.#preset = presets.find(({ name }) => name === this.#presets.value);
    const text = this.#preset?.text?.(this.#type);
    show(this.editor.element, text !== undefined);
    show(this.#operatorFields, kind === "operator" && text !== undefined);
    this.editor.value = text ?? "";
    this.#isEdited = false;
    this.#identity.value = this.#preset?.identity?.(this.#type) ?? "";
    this.#commutative.checked = this.#preset?.isCommutative === true;
  }
}

function check(label: () => string, box: HTMLInputElement): HTMLElement {
  return h("div", { class: "field check" }, h("label", {}, box, " ", label));
}

/** The line of the reader's text that an error names: files of the library end in .wgsl. */
export function lineOf(message: string): number | undefined {
  for (const [, origin, line] of message.matchAll(/^\s*(\S.*?):(\d+): /gm)) {
    if (origin?.endsWith(".wgsl") === false) return Number(line);
  }
  return undefined;
}

function shown(value: number | undefined): string {
  return value === undefined ? "" : String(Number(value.toPrecision(9)));
}

function mismatch(at: Mismatch): string {
  const words = t().playground;
  if (at.index === "length") return words.lengthIs(at.output, shown(at.found), shown(at.wanted));
  return words.at(at.output, String(at.index), shown(at.found), shown(at.wanted));
}

const HEAD = 12;
const TAIL = 4;

function valuesOf(items: Items): string {
  const texts = (part: Items) => [...part].map(shown).join(", ");
  if (items.length <= HEAD + TAIL) return texts(items);
  const [head, tail] = [items.subarray(0, HEAD) as Items, items.subarray(items.length - TAIL) as Items];
  return `${texts(head)}, ${t().playground.moreItems} ${texts(tail)}`;
}

/** Counts as bars: many bins share one. */
function chart(counts: Items): HTMLElement {
  const most = 128;
  const bars = Math.min(most, counts.length);
  const heights = Array.from({ length: bars }, (_, i) => {
    const part = counts.subarray((i * counts.length) / bars, ((i + 1) * counts.length) / bars);
    return (part as Uint32Array).reduce((sum, count) => sum + count, 0);
  });
  const highest = Math.max(1, ...heights);
  const label = () => t().playground.chart(number(counts.length));
  const columns = heights.map((height) => {
    const column = h("div", {});
    column.style.height = `${(100 * height) / highest}%`;
    return column;
  });
  return h("div", { class: "chart", role: "img", "aria-label": label }, ...columns);
}

function resultOf({ choice, trial, outputs, verdict, compileMs, timing }: Found): HTMLElement[] {
  const words = t().playground;
  const rows = trial.outputs.map(({ name }) => {
    const items = outputs[name] as Items;
    const values = h("td", { class: "values" }, h("code", {}, valuesOf(items)));
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("code", {}, name)),
      h("td", { class: "figure" }, number(items.length)),
      values,
    );
  });
  const verdictText = verdict.kind === "wrong" ? words.checks.wrong(mismatch(verdict.at)) : words.checks[verdict.kind];
  const seconds = timing.ms.median / 1e3;
  const rate = words.throughput(
    number(choice.items / seconds / 1e6, 3),
    number(trial.plan.leastBytes / seconds / 1e9, 3),
  );
  const clock = timing.isDeviceClock ? words.clockDevice : words.clockHost;
  return [
    h("h3", {}, words.result),
    h("p", { class: `verdict ${verdict.kind}` }, verdictText),
    h(
      "div",
      { class: "scroller", tabindex: 0, role: "region", "aria-label": words.result },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h("tr", {}, ...[words.output, words.length, words.values].map((head) => h("th", { scope: "col" }, head))),
        ),
        h("tbody", {}, ...rows),
      ),
    ),
    ...(choice.primitive === "histogram" ? [chart(outputs["output"] as Items)] : []),
    h("h3", {}, words.time),
    h("p", { class: "time" }, h("strong", {}, words.median(duration(timing.ms.median * 1000))), ` · ${clock}`),
    h("p", {}, words.spread(duration(timing.ms.min * 1000), duration(timing.ms.max * 1000)), " ", rate),
    h("p", { class: "hint" }, words.compile(duration(compileMs * 1000))),
  ];
}

export function playgroundView(sessions: Sessions): HTMLElement {
  const form = new Form();
  const job = new Job();
  let found: Found | undefined;
  let explanation: string | undefined;
  let said: () => string = () => "";

  const problems = h("div", {});
  const status = live(h("p", { class: "status", role: "status" }), (line) => {
    line.textContent = said();
  });
  const say = (text: () => string) => {
    said = text;
    refresh(status);
  };
  const result = rebuilt(h("div", { class: "result" }), () => (found === undefined ? [] : resultOf(found)));
  const plan = rebuilt(h("div", {}), () => {
    if (explanation === undefined) return [];
    const words = t().playground;
    return [
      h("h3", {}, words.plan),
      h("p", {}, words.planIntro),
      h("pre", { class: "plan", tabindex: 0, role: "region", "aria-label": words.plan, lang: "en" }, explanation),
    ];
  });
  const meter = h("progress", { "aria-label": () => t().progress });
  const runButton = h("button", { type: "submit", class: "primary" }, () => t().run);
  const stopButton = h("button", { type: "button", onclick: () => job.stop() }, () => t().stop);
  const setRunning = (isRunning: boolean) => {
    runButton.disabled = isRunning;
    stopButton.disabled = !isRunning;
    show(meter, isRunning);
  };
  setRunning(false);

  const enter = async (phase: Phase, signal: AbortSignal) => {
    const phases = Object.keys(t().playground.phases);
    meter.max = phases.length;
    meter.value = phases.indexOf(phase);
    say(() => `${t().playground.phases[phase]} …`);
    await new Promise((resolve) => setTimeout(resolve, 0));
    signal.throwIfAborted();
  };

  const tryIt = async (session: Session, choice: Choice, signal: AbortSignal): Promise<void> => {
    await enter("making", signal);
    const trial = await makeTrial(session.up, choice, signal);
    explanation = trial.explanation;
    refresh(plan);
    await enter("compiling", signal);
    const begin = performance.now();
    await abortable(session.up.prepare(trial.plan), signal);
    const compileMs = performance.now() - begin;
    await enter("running", signal);
    const bound = new BoundPlan(session, trial.plan, trial.inputs);
    try {
      const outputs = await abortable(bound.run(trial), signal);
      await enter("checking", signal);
      const verdict = await trial.check(outputs, signal);
      await enter("measuring", signal);
      const timing = await bound.measure(signal);
      found = { choice, trial, outputs, verdict, compileMs, timing };
    } finally {
      bound.free();
    }
  };

  const explain = (error: unknown): void => {
    if (error instanceof NoFunctionError) {
      problems.replaceChildren(h("p", { class: "notice error", role: "alert" }, () => t().playground.noFunction));
      form.editor.mark(1);
      return;
    }
    problems.replaceChildren(errorBox(error));
    if (error instanceof UpsweepError) form.editor.mark(lineOf(error.message));
  };

  const run = async (): Promise<void> => {
    const { session } = sessions;
    if (session === undefined || job.isRunning) return;
    problems.replaceChildren();
    form.editor.mark(undefined);
    const choice = form.read();
    if (choice === undefined) {
      const message = () => t().playground.sizeError(number(form.mostItems));
      problems.replaceChildren(h("p", { class: "notice error", role: "alert" }, message));
      return;
    }
    found = undefined;
    explanation = undefined;
    refresh(result);
    refresh(plan);
    setRunning(true);
    const stop = () => job.stop();
    session.lost.addEventListener("abort", stop);
    try {
      const isDone = await job.run((signal) => tryIt(session, choice, signal));
      say(() => (isDone ? t().done : t().stopped));
      refresh(result);
    } catch (error) {
      say(() => "");
      explain(error);
    } finally {
      session.lost.removeEventListener("abort", stop);
      setRunning(false);
    }
  };

  const page = h(
    "form",
    {
      novalidate: true,
      onsubmit: (event) => {
        event.preventDefault();
        void run();
      },
    },
    form.element,
    h("div", { class: "buttons" }, runButton, stopButton),
  );
  const missing = h("p", { class: "hint" }, () => t().needsDevice);
  sessions.watch((state) => {
    show(page, state.kind === "ready" || state.kind === "lost");
    show(missing, state.kind === "missing" || state.kind === "failed");
    if (state.kind === "ready") form.adopt(state.session);
  });
  return h(
    "div",
    {},
    h("p", { class: "lead" }, () => t().playground.intro),
    missing,
    page,
    meter,
    status,
    problems,
    result,
    plan,
  );
}
