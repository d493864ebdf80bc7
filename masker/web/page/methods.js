// The methods side by side: what each made of the text, and how long it took.

import { showDiff } from "./diff.js";
import { el, seconds } from "./dom.js";

const TOLD = {
  auto: "the student, and a search where that is not good enough",
  fast: "the student alone",
  search: "many infills, ranked",
  paper: "one span, by its Score",
};

/** A row for each; `onUse(rewrite, method)` is told which one it shall be. */
export function showMethods(body, text, methods, rewrites, onUse) {
  body.replaceChildren(...methods.map((method) => row(text, method, rewrites.get(method), onUse)));
}

function row(text, method, rewrite, onUse) {
  const cell = el("td", { className: "prose small" });
  if (rewrite) showDiff(cell, text, rewrite.edits);
  else cell.append(text.trim() ? "…" : "");
  const by = rewrite && rewrite.method !== method ? ` (${rewrite.method})` : "";
  const sure = rewrite?.confidence === undefined ? "" : `, ${Math.round(100 * rewrite.confidence)} %`;
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, method, el("small", {}, TOLD[method] ?? "")),
    cell,
    el("td", { className: "time" }, rewrite ? seconds(rewrite.time) + by + sure : ""),
    el("td", {}, el("button", { type: "button", disabled: !rewrite, onclick: () => onUse(rewrite, method) }, "Use")),
  );
}
