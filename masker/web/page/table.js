// The table of the paper's appendix: every span, what would be written there, and L1 to L4.

import { changed } from "./diff.js";
import { el, number } from "./dom.js";
import { asEdit } from "./edits.js";

export const FIRST = 6; // rows that are shown before all are asked for

/** Rows by Score, best first: all, or the first few that could be made. */
export function showTable(body, explanation, { all, onPoint, onApply }) {
  const { spans, source } = explanation;
  const ranked = spans.map((span, index) => ({ span, index })).sort((a, b) => b.span.candidate - a.span.candidate || b.span.score - a.span.score);
  const shown = all ? ranked : ranked.filter(({ span }) => span.candidate && span.score > 0).slice(0, FIRST);
  body.replaceChildren(...shown.map(({ span, index }) => row(span, index, explanation, source, onPoint, onApply)));
  return ranked.length - shown.length;
}

/** An insertion alone does not say where it goes. */
function where(span, { source, offsets }) {
  if (span.words) return [];
  const next = offsets[span.i];
  return [el("small", {}, next ? ` before “${source.slice(...next)}”` : " at the end")];
}

function row(span, index, explanation, source, onPoint, onApply) {
  const edit = span.candidate ? asEdit(span, source) : null;
  const what = edit
    ? el("button", { type: "button", className: "quiet" }, ...changed(edit), ...where(span, explanation))
    : el("span", {}, source.slice(span.start, span.end).trim() || "nothing", " stays");
  const values = [span.score, span.target_score, span.source_score, span.L1, span.L2, span.L3, span.L4];
  const node = el(
    "tr",
    {
      className: `${index === explanation.chosen ? "chosen" : ""}${edit ? "" : " idle"}`,
      onpointerenter: () => onPoint(span), onpointerleave: () => onPoint(null),
      onfocusin: () => onPoint(span), onfocusout: () => onPoint(null),
      onclick: () => edit && onApply(span),
    },
    el("th", { scope: "row" }, what),
    ...values.map((value) => el("td", {}, value === null ? "" : number(value))),
  );
  node.dataset.span = index;
  return node;
}
