// SPDX-License-Identifier: Apache-2.0
// A text field for WGSL with line numbers, which can mark a line.
import { h, newId } from "./dom.js";

export class Editor {
  readonly element: HTMLElement;
  readonly #text: HTMLTextAreaElement;
  readonly #gutter = h("div", { class: "gutter", "aria-hidden": "true" });
  #marked: number | undefined;

  constructor(label: () => string, hint: () => string, change: () => void) {
    const id = newId("editor");
    this.#text = h("textarea", {
      id,
      rows: 2,
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      wrap: "off",
      lang: "en",
      "aria-describedby": `${id}-hint`,
      oninput: () => {
        this.mark(undefined);
        this.#fit();
        change();
      },
    });
    this.#text.addEventListener("scroll", () => {
      this.#gutter.style.transform = `translateY(${-this.#text.scrollTop}px)`;
    });
    this.element = h(
      "div",
      { class: "field wide" },
      h("label", { for: id }, label),
      h("div", { class: "editor" }, h("div", { class: "gutter-window" }, this.#gutter), this.#text),
      h("span", { class: "hint", id: `${id}-hint` }, hint),
    );
  }

  get value(): string {
    return this.#text.value;
  }
  set value(text: string) {
    this.#text.value = text;
    this.mark(undefined);
    this.#fit();
  }

  /** Counted from one; undefined: none. */
  mark(line: number | undefined): void {
    this.#marked = line;
    this.#text.setAttribute("aria-invalid", String(line !== undefined));
    this.#drawGutter();
  }

  #fit(): void {
    this.#text.rows = Math.min(16, Math.max(2, this.value.split("\n").length));
    this.#drawGutter();
  }
  #drawGutter(): void {
    const lines = this.value.split("\n").map((_, i) => {
      return h("div", { class: i + 1 === this.#marked ? "marked" : "" }, String(i + 1));
    });
    this.#gutter.replaceChildren(...lines);
  }
}
