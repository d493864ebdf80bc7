// Edits of a text, and what has been decided about them. An edit is {start, end, old, new, score, undone}.

const MOST = 6; // candidates to choose from

export const touches = (a, b) => a.start <= b.end && b.start <= a.end && !(apart(a, b) || apart(b, a));

// two edits that are not insertions may stand side by side
const apart = (a, b) => a.end === b.start && a.start < a.end && b.start < b.end;

/** The text with all edits made that stand. */
export function applied(text, edits) {
  let result = "";
  let at = 0;
  for (const edit of edits) {
    if (edit.undone) continue;
    result += text.slice(at, edit.start) + edit.new;
    at = edit.end;
  }
  return result + text.slice(at);
}

/** Edits with one more in the place of those that it touches. */
export function withEdit(edits, edit) {
  return [...edits.filter((other) => !touches(other, edit)), edit].sort((a, b) => a.start - b.start || a.end - b.end);
}

/** What else could stand where an edit does, each once: what other rewrites have there, and then what an explanation
 * has, the spans first that are most like the edit's own. */
export function candidatesFor(edit, text, rewrites, explanation) {
  const found = new Map();
  const add = (one) => {
    const result = applied(text, [one]);
    if (touches(one, edit) && result !== applied(text, [edit]) && !found.has(result)) found.set(result, one);
  };
  for (const rewrite of rewrites) for (const one of rewrite.edits) add(one);
  const away = (span) => Math.abs(span.start - edit.start) + Math.abs(span.end - edit.end);
  const spans = (explanation?.spans ?? []).filter((span) => span.candidate && span.score > 0);
  for (const span of spans.sort((a, b) => away(a) - away(b) || b.score - a.score)) add(asEdit(span, text));
  return [...found.values()].slice(0, MOST);
}

/** An edit in words. */
export function told(edit) {
  const [old, made] = [edit.old.trim(), edit.new.trim()];
  if (!old) return `“${made}” is inserted`;
  return made ? `“${old}” becomes “${made}”` : `“${old}” is deleted`;
}

/** A span of an explanation as an edit. */
export const asEdit = (span, text) => ({
  start: span.start, end: span.end, old: text.slice(span.start, span.end), new: span.new, score: span.score,
});
