// SPDX-License-Identifier: Apache-2.0
import { demoView } from "./demo_view.js";
import { adapterName, deviceView } from "./device_view.js";
import { h, live, rebuilt, refresh, show } from "./dom.js";
import icon from "./icon.svg";
import { laddersView } from "./ladders_view.js";
import { LANGUAGES, language, readLanguage, setLanguage, t } from "./language.js";
import { errorBox } from "./notice.js";
import { playgroundView } from "./playground_view.js";
import { type SessionState, Sessions } from "./session.js";

const VIEWS = ["device", "ladders", "playground", "demo"] as const;
type ViewName = (typeof VIEWS)[number];

function viewOfAddress(): ViewName {
  return VIEWS.find((name) => location.hash === `#${name}`) ?? "device";
}

function languageSwitch(): HTMLElement {
  const names = { en: "English", zh: "中文" };
  const buttons = LANGUAGES.map((name) => {
    const button = h("button", { type: "button", lang: name, onclick: () => setLanguage(name) }, names[name]);
    return live(button, () => button.setAttribute("aria-pressed", String(language() === name)));
  });
  return h("div", { class: "languages", role: "group", "aria-label": () => t().language }, ...buttons);
}

/** What is said of the device at the top of every section. */
function stateBanner(sessions: Sessions): HTMLElement {
  const status = h("p", { class: "state", role: "status" });
  const problem = h("div", { role: "alert" });
  let state: SessionState = sessions.state;
  live(status, () => {
    const words = t().state;
    if (state.kind === "opening") status.textContent = words.opening;
    else status.textContent = state.kind === "ready" ? words.ready(adapterName(state.session)) : "";
    status.dataset["state"] = state.kind;
    show(status, status.textContent !== "");
  });
  rebuilt(problem, () => {
    const words = t().state;
    const again = h("button", { type: "button", onclick: () => void sessions.open() }, words.reopen);
    switch (state.kind) {
      case "missing":
        return [notice(words.missingTitle, words[state.why], words.readAnyway)];
      case "failed":
        return [notice(words.failedTitle, h("pre", { lang: "en" }, state.message), again)];
      case "lost":
        return [notice(words.lostTitle, words.lost, h("pre", { lang: "en" }, state.message), again)];
      default:
        return [];
    }
  });
  const banner = h("div", { class: "banner" }, status, problem);
  sessions.watch((next) => {
    state = next;
    refresh(banner);
  });
  return banner;
}

function notice(title: string, ...content: readonly (string | HTMLElement)[]): HTMLElement {
  const lines = content.map((one) => (typeof one === "string" ? h("p", {}, one) : one));
  return h("div", { class: "notice" }, h("h2", {}, title), ...lines);
}

// The address keeps the name of the section.
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function start(): void {
  readLanguage();
  const sessions = new Sessions();
  const makers = { device: deviceView, ladders: laddersView, playground: playgroundView, demo: demoView };
  let shown = viewOfAddress();
  const isShown = (name: ViewName) => shown === name;
  const sections = VIEWS.map((name) =>
    h(
      "section",
      { id: name, class: "view", "aria-labelledby": `${name}-title` },
      h("h2", { id: `${name}-title`, tabindex: -1 }, () => t().views[name]),
      makers[name](sessions, () => isShown(name)),
    ),
  );
  const links = VIEWS.map((name) => h("a", { href: `#${name}` }, () => t().views[name]));
  const goTo = (focus: boolean) => {
    shown = viewOfAddress();
    for (const [i, name] of VIEWS.entries()) {
      const [section, link] = [sections[i] as HTMLElement, links[i] as HTMLElement];
      show(section, name === shown);
      if (name === shown) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      section.dispatchEvent(new Event(name === shown ? "shown" : "hidden"));
    }
    if (!focus) return;
    scrollTo(0, 0);
    document.getElementById(`${shown}-title`)?.focus({ preventScroll: true });
  };
  const late = h("div", {});
  sessions.watch((state) => {
    if (state.kind !== "ready") return;
    const { device, up } = state.session;
    const complain = (error: unknown) => {
      late.replaceChildren(
        h("p", {}, () => t().lateError),
        errorBox(error),
      );
    };
    up.onerror = complain;
    device.addEventListener("uncapturederror", (event) => complain((event as GPUUncapturedErrorEvent).error.message));
  });
  document.body.replaceChildren(
    h("a", { class: "skip", href: "#content", onclick: skip }, () => t().skip),
    h(
      "header",
      {},
      h(
        "div",
        { class: "brand" },
        h("img", { src: icon, alt: "", width: 40, height: 40 }),
        h(
          "div",
          {},
          h("h1", {}, "upsweep"),
          h("p", {}, () => t().tagline),
        ),
      ),
      languageSwitch(),
      h("nav", { "aria-label": () => t().navigation }, ...links),
    ),
    h("main", { id: "content", tabindex: -1 }, stateBanner(sessions), late, ...sections),
    h(
      "footer",
      {},
      h("p", {}, () => t().footer.text),
    ),
  );
  live(document.body, () => {
    document.title = t().title;
  });
  addEventListener("hashchange", () => goTo(true));
  goTo(false);
  void sessions.open();
}

start();
