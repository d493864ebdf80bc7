// What is edited at a time, a sentence of a text or the whole of it, as core/segments.py has it.

import { hasAlnum, hasUpper, isLower, isUpper, pairwise } from "./characters.js";
import { endsSentence, isPunctuation } from "./text.js";
import { isTight } from "./unspaced.js";

const LONGEST = 64; // words of a segment: what goes on for longer without a sentence's end is cut
const CONTEXT = 64; // pieces that the model sees at a time, where it is not known how many it is used to
const ABBREVIATION = /^(?:mr|mrs|ms|dr|prof|st|mt|jr|sr|vs|etc|approx|no|nr|e\.g|i\.e|z\.b|u\.a|a\.m|p\.m|m|mme|bzw|ca)$/i;
const INITIALS = /^[A-Z](?:\.[A-Z])*$/;

/** The parts of a text that are edited, each by itself: {text, words, keep, offset}. No cut goes through what is kept. */
export function passages(task, source, unit) {
  const text = task.vocabulary.read(source);
  const keep = task.keptIn(source);
  const parts = split(text, keep, unit);
  if (parts.length === 1) return [{ text, words: parts[0], keep, offset: 0 }];
  return parts.map((part, k) => {
    const seen = around(text, parts, k, unit.longest ?? CONTEXT);
    const [start, end] = [text.words[seen.start].start, text.words[seen.stop - 1].end];
    const kept = keep.filter(([a, b]) => a < end && b > start).map(([a, b]) => [Math.max(a - start, 0), b - start]);
    if (k < parts.length - 1 && isPunctuation(text.word(part.stop - 1))) {
      const last = text.words[part.stop - 1]; // protected as a text's final mark is, and nothing comes after it
      kept.push([last.start - start, last.end - start + 1]);
    }
    const words = { start: part.start - seen.start, stop: part.stop - seen.start };
    return { text: task.vocabulary.read(source.slice(start, end)), words, keep: kept, offset: start };
  });
}

/** Sentences, or as many of them at a time as fit into `longest` pieces. */
function split(text, keep, { sentences, longest }) {
  const count = text.words.length;
  if (!count) return [];
  if (!sentences && (longest === null || text.pieces.length <= longest)) return cut(0, count);
  const found = [];
  let start = 0;
  for (const [end, after] of pairwise([...sentenceEnds(text, keep), count])) {
    if (sentences || text.bounds[after] - text.bounds[start] > (longest ?? 0)) {
      found.push(...cut(start, end));
      start = end;
    }
  }
  return [...found, ...cut(start, count)];
}

/** The words before which a new sentence begins. A mark after a mark belongs to the sentence before. */
function sentenceEnds(text, keep) {
  const cased = hasUpper(text.source);
  const found = [];
  let spoken = false; // whether the sentence has a word yet
  for (let i = 1; i < text.words.length; i++) {
    const [last, word] = [text.words[i - 1], text.words[i]];
    spoken = spoken || !isPunctuation(text.word(i - 1));
    const touching = last.end === word.start && !isTight(text.source[last.end - 1]);
    if (!spoken || touching || !ends(text, i, cased)) continue;
    if (keep.some(([start, end]) => start < last.end && word.start < end)) continue;
    if (hasAlnum(text.source.slice(word.start))) {
      spoken = false;
      found.push(i);
    }
  }
  return found;
}

/** Whether a sentence ends before word i. */
function ends(text, i, cased) {
  if (text.source.slice(text.words[i - 1].end, text.words[i].start).split("\n").length > 2) return true;
  let k = i - 1;
  while (k > 0 && isPunctuation(text.word(k)) && !endsSentence(text.word(k))) k--; // a closing quote or bracket
  const mark = text.word(k);
  if (!endsSentence(mark) || k === 0) return false;
  if (/[.…]$/.test(mark)) {
    const following = text.word(i).match(/[\p{L}\p{N}]/u)?.[0] ?? "";
    if (cased && isLower(following)) return false;
    if (mark === "..." || mark === "…") return isUpper(following);
  }
  const apart = text.words[k].start > text.words[k - 1].end;
  return apart || mark !== "." || !(ABBREVIATION.test(text.word(k - 1)) || INITIALS.test(text.word(k - 1)));
}

/** Stretches of about the same length, none longer than LONGEST words. */
function cut(start, stop) {
  const count = Math.ceil((stop - start) / LONGEST);
  const edges = Array.from({ length: count + 1 }, (_, k) => start + Math.floor(((stop - start) * k) / count));
  return pairwise(edges).map(([a, b]) => ({ start: a, stop: b }));
}

/** A part with its neighbours, as many as fit into `most` pieces: what came before first. */
function around({ bounds }, parts, k, most) {
  let [first, last] = [k, k + 1];
  while (first && bounds[parts[last - 1].stop] - bounds[parts[first - 1].start] <= most) first--;
  while (last < parts.length && bounds[parts[last].stop] - bounds[parts[first].start] <= most) last++;
  return { start: parts[first].start, stop: parts[last - 1].stop };
}
