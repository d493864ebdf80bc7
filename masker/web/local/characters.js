// What Python knows of characters and words, where JavaScript knows something else.

const SPACES = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
export const S = `[${SPACES}]`; // \s, \S and \w of patterns, which are to have the flag u
export const NOT_S = `[^${SPACES}]`;
export const W = "[\\p{L}\\p{N}_]";

const CHUNK = new RegExp(`${NOT_S}+`, "gu");
const ONLY_SPACE = new RegExp(`^${S}+$`, "u");

/** Stretches without white space, as matches. */
export const chunks = (source) => [...source.matchAll(CHUNK)];
export const split = (source) => source.match(CHUNK) ?? [];
export const isSpace = (text) => ONLY_SPACE.test(text);
export const isAscii = (text) => !/[^\x00-\x7f]/.test(text);
export const isAlpha = (text) => /^\p{L}+$/u.test(text);
export const isAlnum = (text) => /^[\p{L}\p{N}]+$/u.test(text);
export const hasAlnum = (text) => /[\p{L}\p{N}]/u.test(text);
export const hasUpper = (text) => /\p{Uppercase}/u.test(text);
export const hasLower = (text) => /\p{Lowercase}/u.test(text);
export const isUpper = (text) => hasUpper(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text);
export const isLower = (text) => hasLower(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);
export const isPrintable = (text) => !/[\p{C}\p{Z}]/u.test(text.replaceAll(" ", ""));
export const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
export const firstOf = (text) => (text ? String.fromCodePoint(text.codePointAt(0)) : "");
export const lastOf = (text) => [...text.slice(-2)].at(-1) ?? "";
export const pairwise = (list) => list.slice(1).map((other, k) => [list[k], other]);
