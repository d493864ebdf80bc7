// What comes out, as core/edits.py has it: edits {start, end, old, new, score ...}, and the rewrites that they make.

export const apply = (edit, source) => source.slice(0, edit.start) + edit.new + source.slice(edit.end);

/** Edits in order, without those that touch the one before: a capital may have reached into the next. */
export function disjoint(edits) {
  const kept = [];
  for (const edit of edits) if (!kept.length || kept.at(-1).end < edit.start) kept.push(edit);
  return kept;
}

/** A text with edits made that are in order and apart, as the JSON of the command line has it. */
export function rewriteOf(source, { from, to }, edits, rest) {
  let text = source;
  for (const edit of [...edits].reverse()) text = apply(edit, text);
  return { source, text, from, to, edits: edits.map(rounded), ...rest };
}

/** Numbers as they are printed: six digits are more than any of them is good for. */
export const rounded = (record) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, typeof value === "number" ? Number(value.toFixed(6)) : value]));
