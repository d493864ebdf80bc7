// Words, as core/text.py has them: a whitespace chunk with its outer punctuation split off. Offsets are UTF-16 units.

import { chunks, pairwise } from "./characters.js";

const ENDS = /^[.!?…‼⁇⁈⁉。．！？｡؟۔।॥։።፧။។៕]+$/u; // Latin, Chinese, Arabic, Indian, Armenian, Khmer ...
const CLITIC = /^(?:['’](?:m|s|re|ve|ll|d|t)|n['’]t)$/iu;
const ELIDED = /^['’](?:em|n|til|cause|tis|twas|\p{Nd}0s)$/iu; // these stand apart in any text

/** Whether all characters are punctuation that is split off a word. An underscore never is: `_num_` is one word. */
export const isPunctuation = (text) => /^(?:(?!_)[\p{P}`´])*$/u.test(text);
export const endsSentence = (word) => ENDS.test(word);
export const isClitic = (word) => CLITIC.test(word);

/** The words of one whitespace chunk, as offsets. A run of one punctuation mark (`...`, `!!`) is one word. */
export function splitChunk(chunk) {
  const characters = [...chunk];
  const at = [0];
  for (const character of characters) at.push(at.at(-1) + character.length);
  let [left, right] = [0, characters.length];
  while (right > 0 && isPunctuation(characters[right - 1])) right--;
  while (left < right && isPunctuation(characters[left])) left++;
  if (left > 0 && left < right) {
    const inner = characters.slice(left - 1, right).join("");
    if (CLITIC.test(inner) || ELIDED.test(inner)) left--; // 'm and 'em keep their apostrophe
  }
  const edges = [0, ...runs(characters, 0, left), left, right, ...runs(characters, right, characters.length), characters.length];
  return pairwise([...new Set(edges)].sort((a, b) => a - b).map((k) => at[k]));
}

function runs(characters, start, stop) {
  const found = [];
  for (let k = start + 1; k < stop; k++) if (characters[k] !== characters[k - 1]) found.push(k);
  return found;
}

/** Offsets of all words of a text. */
export const splitWords = (source) =>
  chunks(source).flatMap((m) => splitChunk(m[0]).map(([a, b]) => [m.index + a, m.index + b]));

/** A source string with its words {start, end, pieces}. `Vocabulary.read` makes one. */
export class Text {
  constructor(source, words) {
    Object.assign(this, { source, words });
    this.pieces = words.flatMap((word) => word.pieces);
    this.bounds = [0]; // index of each word's first piece, and of the end
    for (const word of words) this.bounds.push(this.bounds.at(-1) + word.pieces.length);
  }

  word(i) { return this.source.slice(this.words[i].start, this.words[i].end); }

  /** Index of the final word if it is punctuation: the paper never touches it. */
  get final() {
    const last = this.words.length - 1;
    return last >= 0 && isPunctuation(this.word(last)) ? last : null;
  }
}
