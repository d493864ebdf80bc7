// Which infills are edits that could be made, and what they look like in their text: core/candidates.py.

import { escaped, hasAlnum, isAscii, isPrintable } from "./characters.js";
import { infillWords, replacement } from "./surface.js";
import { splitWords } from "./text.js";

/** Pieces written into a text in the place of a span, or null if that is no candidate. */
export function written(task, text, span, pieces, fixed) {
  const { vocabulary } = task;
  const old = text.pieces.slice(text.bounds[span.start], text.bounds[span.stop]);
  if (pieces.length === old.length && pieces.every((piece, k) => piece === old[k])) return null;
  if (pieces.length && vocabulary.isContinuation(pieces[0])) return null;
  return placed(task, text, span, spelt(vocabulary, text, span, pieces), fixed);
}

/** The characters of an infill. Words of the span keep the accents that the tokenizer has taken off them. */
function spelt(vocabulary, text, span, pieces) {
  let infill = vocabulary.infill(span.start ? text.words[span.start - 1].pieces : [], pieces);
  if (isAscii(text.source) || !pieces.length) return infill;
  const apart = text.source !== text.source.normalize("NFC") && text.source === text.source.normalize("NFD");
  if (apart) infill = infill.normalize("NFD");
  for (let i = span.start; i < span.stop; i++) {
    const known = vocabulary.infill([], text.words[i].pieces).normalize(apart ? "NFD" : "NFC").toLowerCase();
    const word = text.word(i);
    if (isAscii(word) || known === word.toLowerCase()) continue;
    infill = infill.replace(new RegExp(`(?<!\\S)${escaped(known)}(?!\\S)`, "gu"), () => word.toLowerCase());
  }
  return infill;
}

/** Characters written into a text in the place of a span, {start, end, new}, or null if that is no candidate. */
export function placed(task, text, span, infill, fixed) {
  const words = infillWords(infill);
  if (infill.includes("\ufffd") || !words.every(isPrintable)) return null;
  const made = replacement(text, span, infill, fixed, task.vocabulary.gaps, task.vocabulary.names);
  const result = text.source.slice(0, made.start) + made.new + text.source.slice(made.end);
  if (result === text.source || !hasAlnum(result)) return null;
  if (task.forbid.size && [...words, ...added(text.source, result)].some((word) => task.forbid.has(word.toLowerCase()))) return null;
  return made;
}

/** Words that a text has more often than another: `do n't` may have become `don't`. */
function added(before, after) {
  const counts = new Map();
  const count = (text, by) => {
    for (const [a, b] of splitWords(text)) {
      const word = text.slice(a, b).toLowerCase();
      counts.set(word, (counts.get(word) ?? 0) + by);
    }
  };
  count(after, 1);
  count(before, -1);
  return [...counts].filter(([, n]) => n > 0).map(([word]) => word);
}
