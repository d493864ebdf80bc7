// Text to pieces and back, as core/vocabulary.py does it with a WordPiece tokenizer that lowers its text.

import { chunks } from "./characters.js";
import { Text, splitChunk } from "./text.js";

const CONTROL = /[\p{C}\ufffd]/u;
const CHINESE = /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
const PUNCTUATION = /([!-/:-@[-`{-~\p{P}])/u;
const LONGEST = 100; // characters of a word: longer ones are unknown

export class Vocabulary {
  /** What `masker page` has written: {tokens, special, never, unknown, mask, pad, start, end, prefix, gaps, names}. */
  constructor(told) {
    Object.assign(this, told);
    this.ids = new Map(told.tokens.map((token, id) => [token, id]));
    this.names = new Map(Object.entries(told.names ?? {}));
    this.isSpecial = new Set(told.special);
    this.words = new Map();
  }

  get size() { return this.tokens.length; }
  domain(name) { return this.ids.get(`[domain:${name}]`); }
  isContinuation(piece) { return this.tokens[piece].startsWith(this.prefix); }

  /** Words and pieces of a text. */
  read(source) {
    const words = chunks(source).flatMap((m) =>
      this.chunk(m[0]).map(({ start, end, pieces }) => ({ start: m.index + start, end: m.index + end, pieces })));
    return new Text(source, words);
  }

  chunk(chunk) {
    return splitChunk(chunk).map(([start, end]) => ({ start, end, pieces: this.word(chunk.slice(start, end)) }));
  }

  word(word) {
    let known = this.words.get(word);
    if (!known) {
      const pieces = this.cut(word).flatMap((part) => this.pieces(part));
      known = pieces.length ? pieces.map((id) => (this.isSpecial.has(id) ? this.unknown : id)) : [this.unknown];
      this.words.set(word, known);
    }
    return known;
  }

  /** Normalised parts of a word: without accents and capitals, marks by themselves. */
  cut(word) {
    const clean = [...word].filter((character) => /[\t\n\r]/.test(character) || !CONTROL.test(character)).join("");
    const bare = clean.replace(CHINESE, " $& ").normalize("NFD").replace(/\p{Mn}/gu, "");
    const lower = [...bare].map((character) => character.toLowerCase()).join("");
    return lower.split(/\s+/u).flatMap((part) => part.split(PUNCTUATION)).filter(Boolean);
  }

  /** The longest piece that the word begins with, then the longest that it goes on with ... */
  pieces(part) {
    const characters = [...part];
    if (characters.length > LONGEST) return [this.unknown];
    const found = [];
    for (let start = 0; start < characters.length;) {
      let end = characters.length;
      let id;
      for (; end > start; end--) {
        id = this.ids.get((start ? this.prefix : "") + characters.slice(start, end).join(""));
        if (id !== undefined) break;
      }
      if (end === start) return [this.unknown];
      found.push(id);
      start = end;
    }
    return found;
  }

  /** The characters that `pieces` add after the pieces `left`: the difference of two decodings. */
  infill(left, pieces) {
    const kept = pieces.filter((piece) => piece !== this.pad);
    return this.decode([...left, ...kept]).slice(this.decode(left).length);
  }

  decode(pieces) {
    return pieces.map((piece, k) => {
      const token = this.tokens[piece];
      if (!k) return token;
      return token.startsWith(this.prefix) ? token.slice(this.prefix.length) : ` ${token}`;
    }).join("");
  }
}
