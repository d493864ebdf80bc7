// How an infill is written into a text, its spaces and capitals: core/surface.py.

import {
  firstOf, hasAlnum, hasUpper, isAlpha, isSpace, isUpper, split,
} from "./characters.js";
import { Spacing, isMark, kindOf, mayStandApart, plain } from "./spacing.js";
import { endsSentence, splitWords } from "./text.js";
import { SCRIPTS, isUnspaced } from "./unspaced.js";

const W = "[\\p{L}\\p{N}_]";
const ALONE = ["(?<!\\S)", "(?!\\S)"];
const AROUND = /^["'`‘’“”„«»‹›()\[\]{}¿¡*「『（【《]+$/u; // may stand between a full stop and what follows
const CLITIC = new RegExp(`${ALONE[0]}(?:(${W}*n) (['’]) (t)|(['’]) (s|m|re|ve|ll|d))${ALONE[1]}`, "giu");
const ELISION = new RegExp( // o'clock, c'mon; l'eau, qu'il, aujourd'hui; dell'acqua
  `${ALONE[0]}(\\p{L}|${W}*qu|aujourd|prud|(?:d[ae]|ne|su|que)ll|degl|quest) (['’]) (?=${W})`, "giu");
const UNDERSCORED = new RegExp(`${ALONE[0]}_ (${W}+) _${ALONE[1]}`, "gu");
const HYPHEN = new RegExp(`(?<=${W}) ([-/]) (?=${W})`, "gu");
const RUNS = new RegExp(`${ALONE[0]}(?:\\. \\. \\.|\` \`|' ')${ALONE[1]}`, "gu");
const LOOSE = new RegExp(`(?<=[${SCRIPTS}]) (?=[${SCRIPTS}])`, "gu"); // tokenizers take Chinese apart
const QUOTES = new Set('"“„«‹「『');
const TURKISH = /[ıİğĞ]/;

/** Write the decoded pieces `infill` in the place of a span: {start, end, new}. Words that are `fixed` keep their case. */
export function replacement(text, span, infill, fixed, usual, names = new Map()) {
  const [words, heir] = withCase(text, span, infillWords(infill), fixed, names);
  let begin = span.start ? text.words[span.start - 1].end : 0;
  let finish = span.stop < text.words.length ? text.words[span.stop].start : text.source.length;
  let made = withSpaces(text, span, words, begin, finish, usual);
  if (heir) {
    // a word after the span changes its case, so the edit reaches up to it
    made += text.source.slice(finish, text.words[heir[0]].start) + heir[1];
    finish = text.words[heir[0]].end;
  }
  while (begin < finish && made && text.source[begin] === made[0] && isSpace(made[0])) {
    begin++;
    made = made.slice(1);
  }
  while (begin < finish && made && text.source[finish - 1] === made.at(-1) && isSpace(made.at(-1))) {
    finish--;
    made = made.slice(0, -1);
  }
  return { start: begin, end: finish, new: made };
}

/** The words of decoded pieces. WordPiece gives `n ' t`, `_ num _`, `2 . 5`, `so - so` for `n't`, `_num_` ... */
export function infillWords(infill) {
  if (isAlpha(infill.replaceAll(" ", "")) && !isUnspaced(infill)) return split(infill);
  let made = infill
    .replace(CLITIC, (_, ...groups) => groups.slice(0, 5).filter(Boolean).join(""))
    .replace(ELISION, "$1$2")
    .replace(UNDERSCORED, "_$1_")
    .replace(/(\p{Nd}) ([.,:]) (?=\p{Nd})/gu, "$1$2")
    .replace(HYPHEN, "$1")
    .replace(RUNS, (run) => run.replaceAll(" ", ""));
  if (isUnspaced(made)) made = made.replace(LOOSE, "");
  return splitWords(made).map(([a, b]) => made.slice(a, b));
}

// -- spaces ----------------------------------------------------------------------------------------------------------

/** The infilled words with the white space between and around them: all that comes between both neighbours. */
function withSpaces(text, span, words, begin, finish, usual) {
  const left = span.start ? text.word(span.start - 1) : null;
  const right = span.stop < text.words.length ? text.word(span.stop) : null;
  if (span.start === span.stop) {
    const gap = text.source.slice(begin, finish);
    return words.length ? inserted(gap, left, words, right, new Spacing(text.source, usual)) : gap;
  }
  const [first, last] = [text.word(span.start), text.word(span.stop - 1)];
  const before = text.source.slice(begin, text.words[span.start].start);
  const after = text.source.slice(text.words[span.stop - 1].end, finish);
  if (words.length) return replaced({ left, right, first, last, before, after }, words, text, usual);
  if (left === null || right === null) return left === null ? before : after;
  if (isMark(right) && (!isMark(last) || (kindOf(right) === "closing" && !after))) return after; // a mark stands as it did
  if (isMark(left) && !isMark(first)) return before;
  if (after.includes("\n")) return after;
  const gap = plain(before) || plain(after);
  if (gap) return gap;
  return isMark(right) || kindOf(left) === "opening" ? "" : new Spacing(text.source, usual).between(left, right);
}

function replaced({ left, right, first, last, before, after }, words, text, usual) {
  const alike = kindOf(first) === kindOf(words[0]) && kindOf(last) === kindOf(words.at(-1));
  const apart = mayStandApart(first) !== mayStandApart(words[0]);
  if (alike && words.length === 1 && (left === null || !apart)) return before + words[0] + after;
  const spacing = new Spacing(text.source, usual);
  // a mark that stood there holds on to what comes, or keeps its distance
  const changed = kindOf(first) !== kindOf(words[0]) || apart;
  let [head, tail] = [before, after];
  if (changed && left !== null && !(isMark(left) && !isMark(first))) head = spacing.kept(before, left, words[0]);
  if (kindOf(last) !== kindOf(words.at(-1)) && right !== null && !(isMark(right) && !isMark(last))) {
    tail = spacing.kept(after, words.at(-1), right);
  }
  return head + spacing.joined(words) + tail;
}

/** Words inserted where only white space was, or nothing: there a mark holds on to one of its neighbours. */
function inserted(gap, left, words, right, spacing) {
  let [before, after] = [gap, right === null ? " " : spacing.loose(words.at(-1), right)];
  if (right === null && left !== null) {
    [before, after] = [spacing.loose(left, words[0]), gap];
  } else if (left !== null && right !== null) {
    if (!gap) {
      const toRight = isMark(left) && (!isMark(right) || spacing.kind(left) === "opening");
      [before, after] = toRight ? ["", after] : [spacing.loose(left, words[0]), ""];
    } else if (!plain(gap) && isMark(right)) {
      [before, after] = [spacing.loose(left, words[0]), gap]; // the no-break space before a mark stays there
    }
  }
  const clings = spacing.kind(words[0]) === "closing" || (left !== null && spacing.kind(left) === "opening");
  if (left !== null && clings) {
    const space = spacing.between(left, words[0]);
    if (!plain(space)) before = space;
  }
  if (spacing.natural && right !== null && spacing.kind(words.at(-1)) === "opening") after = spacing.between(words.at(-1), right);
  return before + spacing.joined(words) + after;
}

// -- case ------------------------------------------------------------------------------------------------------------

/** Infilled words in the case of their place; and the next word of the text, with its index, if its case changes. */
function withCase(text, span, infilled, fixed, names) {
  let words = infilled;
  const turkish = TURKISH.test(text.source + words.join(""));
  if (!hasUpper(text.source)) return [words.map((word) => lower(word, turkish)), null];
  if (isShouted(text.source)) return [words.map((word) => upper(word, turkish)), null];
  const now = text.words.map((_, i) => text.word(i));
  const old = now.slice(span.start, span.stop).filter((word) => word.toUpperCase() !== word.toLowerCase());
  if (old.length && old.every((word) => [...word].length > 2 && isShouted(word))) words = words.map((word) => upper(word, turkish));
  const here = new Map();
  for (let i = span.start; i < span.stop; i++) if (!startsSentence(now, i)) here.set(now[i].toLowerCase(), now[i]);
  words = words.map((word) => here.get(word) ?? names.get(word) ?? (new RegExp(`^i(?:['’]${W}+)?$`, "u").test(word) ? `I${word.slice(1)}` : word));
  const sentences = isUpper(text.source.match(/\p{L}/u)?.[0] ?? ""); // do they begin with a capital here?
  const first = firstOf(now.slice(span.start).find(hasAlnum) ?? "");
  let capital = startsSentence(now, span.start) && (isAlpha(first) ? isUpper(first) : sentences);
  const made = [];
  for (let word of words) {
    if (capital && hasAlnum(word)) [word, capital] = [titled(word, turkish), false];
    made.push(word);
    capital = capital || (sentences && word !== "..." && endsSentence(word));
  }
  return [made, heirOf(now, span, made, fixed, capital, turkish, names)];
}

/** The next word after a span, with its index, if its case changes. */
function heirOf(now, span, made, fixed, capital, turkish, names) {
  const k = now.findIndex((word, i) => i >= span.stop && hasAlnum(word));
  if (k < 0 || fixed.slice(span.stop, k + 1).some(Boolean)) return null;
  const before = [...now.slice(0, span.start), ...made, ...now.slice(span.stop, k)];
  const [wasFirst, isFirst] = [startsSentence(now, k), startsSentence(before, before.length)];
  let heir = now[k];
  if (capital && isFirst && !wasFirst) heir = titled(heir, turkish); // a deleted first word hands its capital on
  else if (wasFirst && !isFirst && !names.has(heir.toLowerCase()) && mayBeLowered(now, k)) heir = lower(firstOf(heir), turkish) + heir.slice(firstOf(heir).length);
  return heir !== now[k] ? [k, heir] : null;
}

const lower = (word, turkish) => (turkish ? word.replaceAll("İ", "i").replaceAll("I", "ı") : word).toLowerCase();
const upper = (word, turkish) => (turkish ? word.replaceAll("i", "İ") : word).toUpperCase();
const isShouted = (words) => isUpper(words) && (words.match(/\p{L}/gu) ?? []).length > 1;

function titled(word, turkish) {
  const first = firstOf(word);
  const title = upper(first, turkish);
  return title[0] + title.slice(1).toLowerCase() + word.slice(first.length);
}

/** Whether word i is the first of the text or of a sentence, marks before it aside. */
function startsSentence(words, i) {
  for (let k = i - 1; k >= 0; k--) {
    if (endsSentence(words[k]) || (words[k] === ":" && k + 1 < i && QUOTES.has(words[k + 1]))) return true;
    if (!AROUND.test(words[k])) return !words.slice(0, i).some(hasAlnum);
  }
  return true;
}

/** A sentence's first word loses its capital unless it looks like its own: `I`, `NASA`, a name seen elsewhere. */
function mayBeLowered(words, i) {
  const word = words[i];
  const [first, rest] = [firstOf(word), word.slice(firstOf(word).length)];
  if (!isUpper(first) || hasUpper(rest) || /\p{Nd}/u.test(rest) || new RegExp(`^I(?!${W})`, "u").test(word)) return false;
  return !words.some((other, k) => k !== i && other === word && !startsSentence(words, k));
}
