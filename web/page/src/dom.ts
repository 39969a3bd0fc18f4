// SPDX-License-Identifier: Apache-2.0
// Elements without a framework. What depends on the language is given as a function and runs again by `refresh`.

type Text = string | (() => string);
type Child = Node | Text | undefined | false;
type Value = Text | number | boolean | undefined;
type Listener = (event: Event) => void;

export interface Attributes {
  /** Listeners are those whose names begin with "on". */
  readonly [name: string]: Value | Listener;
}

const updates = new WeakMap<Node, (() => void)[]>();

/** Runs `update` now and whenever the language changes while the node is in the page. */
export function live<N extends Node>(node: N, change: (node: N) => void): N {
  const update = () => change(node);
  update();
  const known = updates.get(node);
  if (known === undefined) updates.set(node, [update]);
  else known.push(update);
  return node;
}

export function refresh(root: Node): void {
  for (const update of updates.get(root) ?? []) update();
  for (const child of [...root.childNodes]) refresh(child);
}

function setAttribute(element: Element, name: string, value: string | number | boolean | undefined): void {
  if (value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as Listener);
    else if (typeof value === "function") live(element, () => setAttribute(element, name, (value as () => string)()));
    else setAttribute(element, name, value);
  }
  append(element, children);
  return element;
}

export function append(parent: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === undefined || child === false) continue;
    parent.append(typeof child === "function" ? liveText(child) : child);
  }
}

export function liveText(read: () => string): globalThis.Text {
  const node = document.createTextNode("");
  return live(node, () => {
    node.data = read();
  });
}

/** Children that are made anew when the language changes. */
export function rebuilt<E extends Element>(element: E, make: () => readonly Child[]): E {
  return live(element, () => {
    element.replaceChildren();
    append(element, make());
  });
}

let nextId = 0;
/** An id that no other element has. */
export function newId(stem: string): string {
  return `${stem}-${nextId++}`;
}

/** A control with its label. */
export function field(label: () => string, control: HTMLElement, hint?: () => string): HTMLDivElement {
  control.id ||= newId("field");
  const note = hint === undefined ? undefined : h("span", { class: "hint", id: `${control.id}-hint` }, hint);
  if (note !== undefined) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, note);
}

export interface Option<V extends string> {
  readonly value: V;
  readonly label: () => string;
}

/** A drop-down list. */
export function choice<V extends string>(
  options: readonly Option<V>[],
  selected: V,
  change: (value: V) => void,
): HTMLSelectElement {
  const list = h(
    "select",
    { onchange: () => change(list.value as V) },
    ...options.map((option) => h("option", { value: option.value }, option.label)),
  );
  list.value = selected;
  return list;
}

/** Shows it, or hides it from everybody. */
export function show(element: HTMLElement, isShown: boolean): void {
  element.hidden = !isShown;
}
