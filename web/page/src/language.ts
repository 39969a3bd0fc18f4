// SPDX-License-Identifier: Apache-2.0
// English or Chinese: kept in the address and, where there is one, in the browser's storage.
import { refresh } from "./dom.js";
import { en, type Texts } from "./texts/en.js";
import { zh } from "./texts/zh.js";

export type Language = "en" | "zh";
export const LANGUAGES: readonly Language[] = ["en", "zh"];

const ALL: Record<Language, Texts> = { en, zh };
const KEY = "upsweep.language";

let current: Language = "en";

function asLanguage(text: string | null | undefined): Language | undefined {
  return LANGUAGES.find((language) => text?.toLowerCase().startsWith(language));
}

function stored(): string | null {
  try {
    return globalThis.localStorage.getItem(KEY);
  } catch {
    return null; // no storage for this page
  }
}

/** Of the address, the storage, or the browser, in this order. */
export function readLanguage(): void {
  const asked = new URLSearchParams(location.search).get("lang");
  const wished = navigator.languages.map(asLanguage).find((language) => language !== undefined);
  current = asLanguage(asked) ?? asLanguage(stored()) ?? wished ?? "en";
  document.documentElement.lang = tag();
}

export function language(): Language {
  return current;
}
export function t(): Texts {
  return ALL[current];
}
function tag(): string {
  return current === "zh" ? "zh-CN" : "en";
}

export function setLanguage(next: Language): void {
  current = next;
  document.documentElement.lang = tag();
  const address = new URL(location.href);
  address.searchParams.set("lang", next);
  history.replaceState(history.state, "", address);
  try {
    globalThis.localStorage.setItem(KEY, next);
  } catch {
    // The address has it.
  }
  refresh(document.body);
}

/** With separators; up to so many significant digits. */
export function number(value: number, digits?: number): string {
  if (digits === undefined) return value.toLocaleString(tag(), { maximumFractionDigits: 3 });
  return value.toLocaleString(tag(), { maximumSignificantDigits: digits });
}

export function percent(share: number): string {
  const digits = share < 0.1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 0 };
  return share.toLocaleString(tag(), { style: "percent", ...digits });
}

export function bytes(size: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let power = 0;
  while (size >= 1024 ** (power + 1) && power + 1 < units.length) ++power;
  return `${number(size / 1024 ** power, 4)} ${units[power]}`;
}

export function duration(microseconds: number): string {
  if (microseconds < 1000) return `${number(microseconds, 3)} µs`;
  if (microseconds < 1e6) return `${number(microseconds / 1000, 3)} ms`;
  return `${number(microseconds / 1e6, 3)} s`;
}
