// SPDX-License-Identifier: Apache-2.0
// The demo: particles that are sorted into a grid in every frame.
import { field, h, live, rebuilt, refresh, show } from "./dom.js";
import { duration, number, t } from "./language.js";
import { errorBox } from "./notice.js";
import { Particles, STAGES, type Stage, type StageTimes, type Stir, sideOf } from "./particles.js";
import type { Session, Sessions } from "./session.js";

const LEAST = 10;
const MOST = { cpu: 16, gpu: 21 };
const FIRST = { cpu: 12, gpu: 18 };
/** What a frame may take, in milliseconds. */
const BUDGET = { cpu: 80, gpu: 9 };
const MOST_STEP = 1 / 30;

type Status = "measuring" | "compiling" | "running" | "paused" | undefined;

/** Where the reader stirs: with the pointer or the arrow keys. */
class Spoon {
  #at: [number, number] = [0.5, 0.5];
  #speed: [number, number] = [0, 0];
  #until = 0;

  constructor(canvas: HTMLCanvasElement) {
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      this.#move((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const [x, y] = step as [number, number];
      this.#move((this.#at[0] + x * 0.03 + 1) % 1, (this.#at[1] + y * 0.03 + 1) % 1);
    });
  }
  #move(x: number, y: number): void {
    const limited = (value: number) => Math.max(-1, Math.min(1, value));
    this.#speed = [limited((x - this.#at[0]) * 8), limited((y - this.#at[1]) * 8)];
    this.#at = [x, y];
    this.#until = performance.now() + 900;
  }
  get now(): Stir {
    const rest = Math.max(0, (this.#until - performance.now()) / 900);
    return { at: this.#at, speed: this.#speed, strength: rest };
  }
}

export function demoView(sessions: Sessions, isShown: () => boolean): HTMLElement {
  const wantsLessMotion = matchMedia("(prefers-reduced-motion: reduce)");
  let particles: Particles | undefined;
  let exponent = 0;
  let isMoving = false;
  let status: Status;
  let frameMs: number | undefined;
  let times: StageTimes | undefined;
  // What runs belongs to one session and one number of particles.
  let turn = 0;

  const canvas = h("canvas", {
    tabindex: 0,
    role: "img",
    "aria-label": () => t().demo.canvas,
    "aria-describedby": "demo-hint",
  });
  const spoon = new Spoon(canvas);
  const problems = h("div", {});
  const statusLine = live(h("p", { class: "status", role: "status" }), (line) => {
    const words = t().demo;
    line.textContent = status === undefined ? "" : words[status];
  });
  const say = (next: Status) => {
    if (next === status) return;
    status = next;
    refresh(statusLine);
  };
  const startButton = h("button", { type: "button", class: "primary", onclick: () => toggle() }, () =>
    isMoving ? t().demo.pause : t().demo.start,
  );
  const stepButton = h("button", { type: "button", onclick: () => void oneFrame() }, () => t().demo.step);
  const restartButton = h("button", { type: "button", onclick: () => void restart() }, () => t().demo.restart);
  const slider = h("input", { type: "range", min: LEAST, max: MOST.gpu, step: 1 });
  const countText = () => {
    const count = 2 ** (exponent || LEAST);
    return t().demo.particleCount(number(count), number(sideOf(count) ** 2));
  };
  const countLine = h("output", {}, countText);
  slider.addEventListener("input", () => {
    exponent = Number(slider.value);
    refresh(countLine);
    slider.setAttribute("aria-valuetext", countText());
  });
  slider.addEventListener("change", () => void restart());

  const figures = rebuilt(h("div", { class: "stages" }), () => {
    const words = t().demo;
    if (frameMs === undefined) return [];
    const rate = frameMs === 0 ? "" : ` · ${words.frames(number(1000 / frameMs, 2))}`;
    const line = h("p", {}, h("strong", {}, words.frameTime(duration(frameMs * 1000))), rate);
    if (times === undefined)
      return [line, particles?.stagesAreTimed === false && h("p", { class: "hint" }, words.noStages)];
    const most = Math.max(...Object.values(times), 1e-6);
    const rows = STAGES.map((stage) => stageRow(stage, times as StageTimes, most));
    const head = h(
      "thead",
      {},
      h("tr", {}, h("th", { scope: "col" }, words.stage), h("th", { scope: "col", class: "figure" }, words.time)),
    );
    return [line, h("table", {}, head, h("tbody", {}, ...rows))];
  });

  const stageRow = (stage: Stage, all: StageTimes, most: number): HTMLElement => {
    const bar = h("div", { class: "bar" });
    bar.style.width = `${(100 * all[stage]) / most}%`;
    const track = h("td", { class: "track-cell" }, h("div", { class: "track", "aria-hidden": "true" }, bar));
    const time = h("td", { class: "figure" }, duration(all[stage] * 1000));
    return h("tr", {}, h("th", { scope: "row" }, t().demo.stages[stage]), time, track);
  };

  let context: GPUCanvasContext | undefined;
  const format = () => navigator.gpu.getPreferredCanvasFormat();
  const configure = ({ device }: Session): GPUCanvasContext => {
    context = (canvas.getContext("webgpu") ?? undefined) as GPUCanvasContext | undefined;
    if (context === undefined) throw new Error("The canvas gives no WebGPU context.");
    context.configure({ device, format: format(), alphaMode: "opaque" });
    return context;
  };

  /** A frame, and its time from submission to completion. */
  const draw = async (session: Session, now: Particles, seconds: number): Promise<number> => {
    const ratio = Math.min(devicePixelRatio, 2);
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (width > 0 && height > 0 && (canvas.width !== width || canvas.height !== height)) {
      canvas.width = width;
      canvas.height = height;
    }
    const begin = performance.now();
    const view = (context as GPUCanvasContext).getCurrentTexture().createView();
    const stages = now.frame(view, canvas.width / canvas.height, canvas.height, seconds, spoon.now);
    stages?.then(
      (next) => {
        times = averaged(times, next);
      },
      () => undefined, // lost, or freed
    );
    await session.device.queue.onSubmittedWorkDone();
    const took = performance.now() - begin;
    canvas.dataset["frames"] = String(Number(canvas.dataset["frames"] ?? 0) + 1);
    return took;
  };

  const prepare = async (session: Session, mine: number): Promise<Particles | undefined> => {
    particles?.free();
    particles = undefined;
    times = undefined;
    frameMs = undefined;
    const made = await Particles.create(session, 2 ** exponent, format());
    if (mine !== turn) {
      made.free();
      return undefined;
    }
    particles = made;
    return made;
  };

  /** How many particles a frame has time for: tries few, then scales. */
  const choose = async (session: Session, mine: number): Promise<void> => {
    const kind = session.up.traits.isCpu ? "cpu" : "gpu";
    exponent = FIRST[kind];
    say("compiling");
    const trial = await prepare(session, mine);
    if (trial === undefined) return;
    say("measuring");
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 4; ++i) {
      const took = await draw(session, trial, 1 / 60);
      if (mine !== turn) return;
      if (i > 0) best = Math.min(best, took);
    }
    // A million is what the page promises; more is for the slider.
    const room = Math.floor(Math.log2(Math.max(BUDGET[kind] / best, 2 ** -4)));
    exponent = Math.max(LEAST, Math.min(20, exponent + room));
  };

  const restart = async (): Promise<void> => {
    const { session } = sessions;
    if (session === undefined) return;
    const mine = ++turn;
    problems.replaceChildren();
    try {
      configure(session);
      slider.max = String(MOST[session.up.traits.isCpu ? "cpu" : "gpu"]);
      const isFirst = exponent === 0;
      if (isFirst) await choose(session, mine);
      if (mine !== turn) return;
      slider.value = String(exponent);
      slider.setAttribute("aria-valuetext", countText());
      refresh(countLine);
      if (!isFirst || particles?.count !== 2 ** exponent) {
        say("compiling");
        if ((await prepare(session, mine)) === undefined) return;
      }
      await loop(session, mine);
    } catch (error) {
      if (mine !== turn || session.lost.aborted) return;
      isMoving = false;
      refresh(startButton);
      say(undefined);
      problems.replaceChildren(errorBox(error));
    }
  };

  const loop = async (session: Session, mine: number): Promise<void> => {
    const now = particles;
    if (now === undefined) return;
    const isMine = () => mine === turn && !session.lost.aborted;
    frameMs = await draw(session, now, 1 / 60); // a picture, whether it moves or not
    if (!isMine()) return;
    refresh(figures);
    say(isMoving ? "running" : "paused");
    let last = performance.now();
    let shownAt = last;
    while (isMoving && isShown() && isMine()) {
      await nextFrame();
      if (!isMoving || !isMine()) break;
      const begin = performance.now();
      await draw(session, now, Math.min(MOST_STEP, (begin - last) / 1000));
      frameMs = 0.9 * (frameMs ?? 0) + 0.1 * (begin - last);
      last = begin;
      if (begin - shownAt > 500) {
        shownAt = begin;
        refresh(figures);
      }
    }
    if (isMine() && !isMoving) say("paused");
  };

  const toggle = () => {
    isMoving = !isMoving;
    refresh(startButton);
    const { session } = sessions;
    if (!isMoving || session === undefined) return;
    if (particles === undefined) void restart();
    else void guarded(session, () => loop(session, ++turn));
  };
  const oneFrame = async () => {
    const { session } = sessions;
    if (session === undefined || isMoving) return;
    if (particles === undefined) await restart();
    else await guarded(session, () => loop(session, ++turn));
  };
  const guarded = async (session: Session, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!session.lost.aborted) problems.replaceChildren(errorBox(error));
    }
  };

  const enter = () => {
    const { session } = sessions;
    if (session === undefined || !isShown()) return;
    if (particles === undefined) {
      if (status === undefined) {
        isMoving = !wantsLessMotion.matches;
        refresh(startButton);
        void restart();
      }
    } else if (isMoving) void guarded(session, () => loop(session, ++turn));
  };

  const controls = h(
    "div",
    { class: "controls" },
    h("div", { class: "buttons" }, startButton, stepButton, restartButton),
    field(() => t().demo.particles, slider),
    countLine,
  );
  const less = h("p", { class: "hint" }, () => t().demo.reducedMotion);
  show(less, wantsLessMotion.matches);
  const stage = h(
    "div",
    { class: "stage" },
    canvas,
    h(
      "div",
      { class: "scale", "aria-hidden": "true" },
      h("span", {}, () => t().demo.sparse),
      h("i", {}),
      h("span", {}, () => t().demo.crowded),
    ),
  );
  const content = h(
    "div",
    {},
    controls,
    less,
    statusLine,
    problems,
    stage,
    h("p", { class: "hint", id: "demo-hint" }, () => t().demo.hint),
    figures,
  );
  const missing = h("p", { class: "hint" }, () => t().needsDevice);

  sessions.watch((state) => {
    show(content, state.kind === "ready" || state.kind === "lost");
    show(missing, state.kind === "missing" || state.kind === "failed");
    if (state.kind === "ready" || state.kind === "lost") {
      ++turn;
      particles = undefined; // those of a lost device are gone with it
      status = undefined;
      refresh(statusLine);
    }
    if (state.kind === "ready") setTimeout(enter, 0);
  });
  const view = h(
    "div",
    {},
    h("p", { class: "lead" }, () => t().demo.intro),
    missing,
    content,
  );
  // The section around this view is told.
  queueMicrotask(() => view.parentElement?.addEventListener("shown", enter));
  return view;
}

function nextFrame(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => resolve()));
}

function averaged(before: StageTimes | undefined, next: StageTimes): StageTimes {
  if (before === undefined) return next;
  const mean = (stage: Stage) => 0.9 * before[stage] + 0.1 * next[stage];
  return Object.fromEntries(STAGES.map((stage) => [stage, mean(stage)])) as unknown as StageTimes;
}
