// What no edit may touch, as core/protection.py has it: numbers, links, names of accounts, code, and what users keep.

import { S, W, NOT_S, escaped } from "./characters.js";
import { SCRIPTS, isUnspaced } from "./unspaced.js";

const SPACED_W = `(?:(?![${SCRIPTS}])${W})`; // where words are not parted by spaces, a number ends where they begin
const EDGE = `(?:(?<=${W})(?!${W})|(?<!${W})(?=${W}))`;
const STANDARD = new RegExp(
  `https?://(?:(?![${SCRIPTS}])${NOT_S})+|www\\.(?:(?![${SCRIPTS}])${NOT_S})+` + // links
    `|${EDGE}(?:${W}|-)+\\.(?:com|org|net|edu|gov|io|de|fr|uk)${EDGE}(?:/${NOT_S}*)?` +
    `|(?:${W}|[.+\\-])+@(?:${W}|-)+\\.(?:${W}|[.\\-])*${W}` + // addresses
    `|(?<!${W})[@#](?:${SPACED_W}+|${W}+)` + // accounts and tags
    "|`[^`\\n]+`" + // code
    `|(?:(?<!${NOT_S})[+−\\-])?(?:[$£€¥]${S}?)?\\p{Nd}(?:(?:${SPACED_W}|[.,:/%°\\-])*(?:${SPACED_W}|[%°]))?` + // numbers, amounts, dates
    "|[¼-¾⅐-↉①-⓿]+" + // fractions, Roman and circled numbers
    `|(?<=(?:${W}|[,;:]) )["“][A-Z][^"”\\n]{0,60}["”]`, // quoted names, not where a sentence begins
  "gu",
);

/** The patterns of a task: the terms to keep, as whole words in any case, and the standard if wanted. */
export function patterns(keep, standard) {
  const terms = keep.map((term) => term.trim()).filter(Boolean).sort((a, b) => b.length - a.length).map(whole);
  return [...(standard ? [STANDARD] : []), ...(terms.length ? [new RegExp(terms.join("|"), "giu")] : [])];
}

const whole = (term) => (isUnspaced(term) ? escaped(term) : `(?<!${SPACED_W})${escaped(term)}(?!${SPACED_W})`);

/** Ranges of characters that patterns match. */
export const keptIn = (source, found) =>
  found.flatMap((pattern) => [...source.matchAll(pattern)].filter((m) => m[0]).map((m) => [m.index, m.index + m[0].length]));
