// SPDX-License-Identifier: Apache-2.0
// Errors, in words.
import { messageOf, UpsweepError } from "../../src/errors.js";
import { h } from "./dom.js";
import { t } from "./language.js";

/** A box that says what went wrong; screen readers are told at once. */
export function errorBox(error: unknown): HTMLElement {
  if (!(error instanceof UpsweepError)) {
    return h(
      "div",
      { class: "notice error", role: "alert" },
      h("p", {}, () => t().pageError),
      h("pre", {}, messageOf(error)),
    );
  }
  return h(
    "div",
    { class: "notice error", role: "alert" },
    h(
      "p",
      {},
      h("strong", {}, () => t().errorKinds[error.kind]),
      " ",
      () => t().libraryError,
    ),
    h("pre", { lang: "en" }, error.message),
  );
}
