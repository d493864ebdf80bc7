// The student, as students/fast.py and students/lasertagger have it: a tag for every word, and what the tags change.

import { placed } from "./candidates.js";
import { hasAlnum } from "./characters.js";
import { disjoint, rewriteOf } from "./rewrite.js";
import { passages } from "./segments.js";
import { mayBeEdited, protectedWords } from "./spans.js";

const [KEEP, DELETE] = [0, 1];

/** Rewrite texts with a student {graph, window, phrases, keepBias, rounds}. */
export async function rewrite(task, student, source, unit) {
  let edits = [];
  for (const passage of passages(task, source, unit)) {
    const { numbers, likely } = await tag(task, student, passage);
    const tags = numbers.map((number) => tagOf(student, number));
    for (const change of changes(tags, likely)) {
      const edit = editOf(task, passage, change);
      if (edit) edits.push(edit);
    }
  }
  edits = disjoint(edits);
  const why = hasAlnum(source) ? "the student would keep it as it is" : "no words";
  return rewriteOf(source, task, edits, { ...(edits.length ? {} : { reason: why }), method: "fast" });
}

/** Tag 0 keeps, 1 deletes, 2 swaps; then every phrase comes with 0 and with 1, and is added before its word. */
function tagOf({ phrases }, number) {
  if (number < 3) return { op: number, phrase: "" };
  return { op: (number - 3) % 2 ? DELETE : KEEP, phrase: phrases[Math.floor((number - 3) / 2)] };
}

/** The tags of the words of a passage, one more than words, and how likely each is. */
async function tag(task, student, { text, words }) {
  const rows = rowsOf(task, student, text.words.slice(words.start, words.stop).map((word) => word.pieces));
  const [numbers, likely] = [[], []];
  for (const [k, row] of rows.entries()) {
    const { best, sure } = await student.graph.tag(row, student.keepBias);
    const size = row.slots.length - (k < rows.length - 1 ? 1 : 0); // where a text goes on, nothing is added at the end
    numbers.push(...best.slice(0, size));
    likely.push(...sure.slice(0, size));
  }
  return { numbers, likely };
}

/** The inputs for words: one, or several consecutive ones where they are longer than the window. */
function rowsOf({ frame, target }, { window }, words) {
  const start = [...frame.start, target];
  const room = window - start.length - frame.end.length;
  const rows = [];
  let [ids, slots] = [[...start], []];
  const close = () => rows.push({ ids: [...ids, ...frame.end], slots: [...slots, ids.length] });
  for (const pieces of words) {
    if (slots.length && ids.length - start.length + pieces.length > room) {
      close();
      [ids, slots] = [[...start], []];
    }
    slots.push(ids.length);
    ids.push(...pieces.slice(0, room));
  }
  if (slots.length) close();
  return rows;
}

/** Words and what comes in their place, and how likely the least likely of the tags is that say so. */
function* changes(tags, likely) {
  const end = tags.length - 1;
  for (let k = 0; k <= end; k++) {
    const start = k;
    const phrases = [];
    let sure = 1;
    for (; k < end && tags[k].op === DELETE; k++) {
      phrases.push(tags[k].phrase);
      sure = Math.min(sure, likely[k]);
    }
    if (tags[k].phrase && tags[k].op !== DELETE) {
      phrases.push(tags[k].phrase);
      sure = Math.min(sure, likely[k]);
    }
    if (k > start || phrases.length) yield { span: { start, stop: k }, infill: phrases.join(""), sure };
  }
}

/** A change as an edit, if it may be made and is one. */
function editOf(task, { text, words, keep, offset }, { span, infill, sure }) {
  const moved = { start: span.start + words.start, stop: span.stop + words.start };
  if (sure <= 0 || !mayBeEdited(text, moved, keep)) return null;
  const made = placed(task, text, moved, infill, protectedWords(text, keep));
  if (!made) return null;
  return { start: made.start + offset, end: made.end + offset, old: text.source.slice(made.start, made.end), new: made.new, score: sure };
}
