// White space between words, as the text at hand has it: core/spacing.py.

import { firstOf, isAscii, lastOf, pairwise } from "./characters.js";
import { isClitic, isPunctuation, splitWords } from "./text.js";
import { isTight, isUnspaced } from "./unspaced.js";

const CLOSING = /^[.,!?;:%)\]}»›”…،؛؟۔।॥։።။។៕、。，．！？；：％）］｝」』】》〉〕｡､｣]+$/u;
const OPENING = /^[(\[{«‹“„‚¿¡$£€#（［｛「『【《〈〔｢]+$/u;
const HIGH = new Set("!?;:%»›«‹"); // that French sets apart, a narrow space before or after them
const REVERSED = /(?<!\S)»[\p{L}\p{N}_]/u; // »so« as in German books
const NO_BREAK = /[\u00a0\u202f\u2007]/;

export const isMark = isPunctuation;
export const mayStandApart = (word) => HIGH.has(word.slice(0, 1));
/** White space without the no-break spaces that belong to a mark: `` if it was one. */
export const plain = (gap) => (isAscii(gap) || !NO_BREAK.test(gap) ? gap : "");

export function kindOf(word) {
  if (isClitic(word) || CLOSING.test(word)) return "closing";
  if (OPENING.test(word)) return "opening";
  return isMark(word) ? "mark" : "word";
}

export class Spacing {
  /** By the marks of a text; `usual` are those that the texts of a model set apart, with their white space. */
  constructor(source, usual) {
    const gaps = pairwise(splitWords(source)).map(([[a, b], [c, d]]) => [source.slice(a, b), source.slice(b, c), source.slice(c, d)]);
    this.quotes = source.includes("„") ? { "“": "closing" } : {};
    if (REVERSED.test(source)) Object.assign(this.quotes, { "»": "opening", "«": "closing" });
    const [low, high] = counted(gaps);
    for (const mark of Object.keys(this.quotes)) high.delete(mark); // what was counted is the other side
    const seen = [...high.values()].flat();
    const balance = seen.reduce((sum, gap) => sum + (gap ? 1 : -1), 0);
    const unusual = Object.keys(usual).length > 0;
    const clings = low < 0 || (low === 0 && (unusual || seen.some((gap) => gap && !plain(gap))));
    this.natural = low + balance <= 0 || clings;
    this.apart = balance >= 0 ? { ...usual } : {};
    if (this.natural && high.size) {
      // each as it is seen; others as the model's texts have them, or as most are seen
      const common = most(seen);
      const rest = common ? Object.fromEntries([...HIGH].map((mark) => [mark, common])) : {};
      this.apart = { ...rest, ...this.apart, ...Object.fromEntries([...high].map(([mark, some]) => [mark, most(some)])) };
    }
    [this.tight, this.mixed] = isUnspaced(source) ? betweenScripts(gaps) : ["", ""];
  }

  kind(word) { return this.quotes[word] ?? kindOf(word); }

  /** The white space between two words that have none yet. */
  between(left, right) {
    if (this.natural) {
      if (this.kind(right) === "closing" && !(isClitic(right) && isMark(left))) return this.apart[firstOf(right)] ?? "";
      if (this.kind(left) === "opening") return this.apart[lastOf(left)] ?? "";
    }
    return this.loose(left, right);
  }

  /** The same where no mark clings. */
  loose(left, right) {
    const [one, other] = [isTight(lastOf(left)), isTight(firstOf(right))];
    if (!one && !other) return " ";
    return (one && other) || isMark(left) || isMark(right) ? this.tight : this.mixed;
  }

  /** The white space between two words that have become neighbours where `gap` was. */
  kept(gap, left, right) {
    const space = this.between(left, right);
    return space === " " ? plain(gap) || space : space;
  }

  joined(words) {
    return words[0] + pairwise(words).map(([a, b]) => this.between(a, b) + b).join("");
  }
}

/** By how much more of the closing marks stand apart than cling; and the white space of those French sets apart. */
function counted(gaps) {
  let low = 0;
  const high = new Map();
  const note = (mark, gap) => high.set(mark, [...(high.get(mark) ?? []), gap]);
  gaps.forEach(([left, gap, right], k) => {
    if (kindOf(right) === "closing") {
      const next = gaps[k + 1];
      const glued = ":;".includes(right) && next && !next[1] && isMark(next[2]); // a smiley
      if (!mayStandApart(right)) low += gap ? 1 : -1;
      else if (!glued) note(firstOf(right), gap);
    } else if ("«‹".includes(left)) note(left, gap);
  });
  return [low, high];
}

/** The most frequent white space, if it stands there more often than not. */
function most(gaps) {
  const counts = new Map();
  for (const gap of gaps) if (gap) counts.set(gap, (counts.get(gap) ?? 0) + 1);
  const spaced = gaps.filter(Boolean).length;
  if (spaced <= gaps.length - spaced) return "";
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

/** What stands between two words of scripts without spaces, and between one of them and another word. */
function betweenScripts(gaps) {
  const found = [[], []];
  for (const [left, gap, right] of gaps) {
    const [one, other] = [isTight(lastOf(left)), isTight(firstOf(right))];
    if ((one || other) && !isMark(left) && !isMark(right)) found[one && other ? 0 : 1].push(gap.slice(0, 1));
  }
  return found.map(most);
}
