// Scripts without spaces between words, as core/unspaced.py has them. Nothing in them is cut, as where Python has no ICU.

export const SCRIPTS =
  "\\u0e00-\\u0eff\\u1000-\\u109f\\ua9e0-\\ua9ff\\uaa60-\\uaa7f\\u1780-\\u17ff\\u19e0-\\u19ff" + // Thai, Lao, Burmese, Khmer
  "\\u3005-\\u3007\\u3041-\\u30ff\\u31f0-\\u31ff\\uff66-\\uff9f" + // kana
  "\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}"; // Han
const WIDE = "\\u3001-\\u3004\\u3008-\\u3030\\uff01-\\uff0f\\uff1a-\\uff20\\uff3b-\\uff40\\uff5b-\\uff65"; // marks
const UNSPACED = new RegExp(`[${SCRIPTS}]`, "u");
const TIGHT = new RegExp(`^[${SCRIPTS}${WIDE}]`, "u");

export const isUnspaced = (text) => UNSPACED.test(text);
export const isTight = (character) => TIGHT.test(character);
