// The paper's method, as core/paper.py and core/explanation.py have it: the span where the domains disagree most is
// deleted and infilled.

import { written } from "./candidates.js";
import { apply, rewriteOf, rounded } from "./rewrite.js";
import { scoreSpans } from "./scoring.js";
import { enumerateSpans, protectedWords } from "./spans.js";

/** All spans of a text with their scores, and the edit that each would be, null where it is none. */
export async function scoresOf(task, graph, source, pause) {
  const text = task.vocabulary.read(source);
  const keep = task.keptIn(source);
  const spans = enumerateSpans(text, task.frame.masks, keep);
  const fixed = protectedWords(text, keep);
  const scores = await scoreSpans(task, graph, text, spans, pause);
  const edits = scores.map(({ infill }, k) => written(task, text, spans[k], infill.filter((piece) => piece !== task.frame.pad), fixed));
  return { text, spans, scores, edits };
}

/** The span with the highest Score that is an edit, if that is above `least`. */
function bestSpan({ scores, edits }, least) {
  const order = scores.map((_, k) => k).sort((a, b) => scores[b].score - scores[a].score);
  return order.find((k) => edits[k] && scores[k].score > least) ?? null;
}

function asEdit({ text, scores, edits }, k) {
  const { start, end, new: made } = edits[k];
  const { score, target, source } = scores[k];
  return { start, end, old: text.source.slice(start, end), new: made, score, target_score: target, source_score: source };
}

export function rewrite(task, found) {
  const best = bestSpan(found, 0);
  const said = { method: "paper" };
  if (best !== null) return rewriteOf(found.text.source, task, [asEdit(found, best)], said);
  if (!found.text.words.length) return rewriteOf(found.text.source, task, [], { reason: "no words", ...said });
  const next = bestSpan(found, -Infinity);
  const reason = next === null
    ? "no span has an infill other than the words that stand there"
    : `the best edit scores ${found.scores[next].score.toFixed(4)}, not above 0`;
  return rewriteOf(found.text.source, task, [], { reason, ...said });
}

export function explanation(task, found) {
  const { text, spans, scores } = found;
  const chosen = bestSpan(found, 0);
  const result = chosen === null ? text.source : apply(asEdit(found, chosen), text.source);
  const rows = spans.map((span, k) => rounded(row(found, span, k)));
  return {
    source: text.source, text: result, from: task.from, to: task.to, chosen,
    offsets: text.words.map(({ start, end }) => [start, end]), spans: rows, asked: scores.length,
  };
}

function row({ text, scores, edits }, span, k) {
  const { L1, L2, L3, L4, target, source, score } = scores[k];
  const edit = edits[k];
  const [start, end] = edit ? [edit.start, edit.end] : characters(text, span);
  return {
    i: span.start, words: span.stop - span.start, target_score: target, source_score: source, score, L1, L2, L3, L4,
    candidate: edit !== null, start, end, new: edit?.new ?? null,
  };
}

/** Where the words of a span stand; of an empty one, where the word before it ends. */
function characters(text, span) {
  const before = span.start ? text.words[span.start - 1].end : 0;
  return span.start === span.stop ? [before, before] : [text.words[span.start].start, text.words[span.stop - 1].end];
}
