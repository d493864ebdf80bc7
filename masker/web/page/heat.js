// The paper's Figure 1, to be touched: the words by the domain that they speak for, and the Score of every span.

import { el, number } from "./dom.js";
import { asEdit, told } from "./edits.js";

const LEAST = 1e-4; // likelihoods below this are noise
const STRONG = 4; // nats of disagreement that get the full colour

/** How much more likely each word is in the source domain than in the target: nats, null where nobody was asked. */
export function disagreement({ offsets, spans }) {
  const single = new Map(spans.filter((span) => span.words === 1).map((span) => [span.i, span]));
  return offsets.map((_, i) => {
    const span = single.get(i);
    return span && span.L4 !== null ? Math.log((span.L4 + LEAST) / (span.L2 + LEAST)) : null;
  });
}

export function tell(word, heat, { from, to }) {
  if (heat === null) return `“${word}” is never changed`;
  const times = Math.exp(Math.abs(heat));
  if (times < 1.2) return `“${word}” is as likely in both`;
  const shown = times < 10 ? times.toFixed(1) : Math.round(times);
  return `“${word}” is ${shown} times as likely in ${heat > 0 ? from : to}`;
}

/** The words of a text as buttons; between them stands what stands between them. */
export function showWords(node, explanation, { kept, onToggle, onPoint }) {
  const { source, offsets } = explanation;
  const heats = disagreement(explanation);
  const nodes = [];
  let at = 0;
  offsets.forEach(([start, end], i) => {
    const word = source.slice(start, end);
    const held = kept(word);
    nodes.push(source.slice(at, start));
    const told = tell(word, heats[i], explanation);
    const button = el(
      "button",
      {
        type: "button",
        className: "word",
        "aria-pressed": String(held),
        "aria-label": `${told}${held ? ", protected" : ""}`,
        onclick: () => onToggle(word),
        onpointerenter: () => onPoint(told),
        onfocus: () => onPoint(told),
      },
      word,
    );
    button.dataset.word = i;
    if (heats[i] !== null) {
      button.dataset.side = heats[i] > 0 ? "source" : "target";
      button.style.setProperty("--heat", Math.min(1, Math.abs(heats[i]) / STRONG).toFixed(3));
    }
    nodes.push(button);
    at = end;
  });
  nodes.push(source.slice(at));
  const focused = node.contains(document.activeElement) ? document.activeElement.dataset.word : null;
  node.replaceChildren(...nodes.filter((one) => one !== ""));
  if (focused !== null) node.querySelector(`[data-word="${focused}"]`)?.focus();
}

/** Mark the words of a span, or the gap that it is; without a span, none. */
export function mark(node, span) {
  for (const word of node.querySelectorAll(".word")) {
    const i = Number(word.dataset.word);
    word.classList.toggle("marked", !!span && i >= span.i && i < span.i + span.words);
    word.classList.toggle("gap", !!span && span.words === 0 && i === span.i);
  }
}

/** Score by the first word of a span (columns) and the number of words it deletes (rows). */
export function showGrid(table, explanation, { onPoint, onApply }) {
  const { source, offsets, spans } = explanation;
  const most = Math.max(...spans.map((span) => span.words));
  const strongest = Math.max(0.01, ...spans.map((span) => Math.abs(span.score)));
  const cells = new Map(spans.map((span, index) => [`${span.words},${span.i}`, { span, index }]));
  const rows = Array.from({ length: most + 1 }, (_, words) =>
    el(
      "tr",
      { role: "row" },
      el("th", { role: "rowheader", scope: "row" }, words ? String(words) : "insert"),
      ...Array.from({ length: offsets.length + 1 }, (_, i) => cell(cells.get(`${words},${i}`), strongest, explanation, onPoint, onApply)),
    ),
  );
  const names = [...offsets.map(([start, end]) => source.slice(start, end)), "(end)"];
  const head = el("tr", { role: "row" }, el("td"), ...names.map((name) => el("th", { role: "columnheader", scope: "col" }, el("span", {}, name))));
  table.replaceChildren(el("tbody", {}, ...rows), el("tfoot", {}, head));
  const buttons = [...table.querySelectorAll("button")];
  if (buttons.length) buttons[0].tabIndex = 0;
  table.onkeydown = (event) => walk(event, table);
}

function cell(found, strongest, explanation, onPoint, onApply) {
  if (!found) return el("td", { role: "gridcell" });
  const { span, index } = found;
  const what = span.candidate ? told(asEdit(span, explanation.source)) : "no other words";
  const button = el("button", {
    type: "button", tabIndex: -1,
    "aria-label": `${what}, Score ${number(span.score, 2)}`,
    onclick: () => span.candidate && onApply(span),
    onpointerenter: () => onPoint(span), onpointerleave: () => onPoint(null),
    onfocus: () => onPoint(span), onblur: () => onPoint(null),
  }, Math.abs(span.score) >= 0.1 * strongest ? number(span.score, 2) : "");
  button.dataset.span = index;
  button.dataset.side = span.score > 0 ? "target" : "source";
  button.style.setProperty("--heat", (Math.abs(span.score) / strongest).toFixed(3));
  if (!span.candidate) button.classList.add("idle");
  if (index === explanation.chosen) button.classList.add("chosen");
  return el("td", { role: "gridcell" }, button);
}

/** The cells are one stop of the Tab key; arrows lead from one to the next. */
function walk(event, table) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const from = event.target.closest("td");
  if (!step || !from) return;
  event.preventDefault();
  let [row, column] = [from.parentElement.rowIndex + step[0], from.cellIndex + step[1]];
  while (table.rows[row]?.cells[column]) {
    const next = table.rows[row].cells[column].querySelector("button");
    if (next) {
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      return;
    }
    row += step[0];
    column += step[1];
  }
}
