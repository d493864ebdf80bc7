// Which spans may be edited, as core/spans.py has it. A span is {start, stop}: words from one up to another.

/** Words that no edit may touch: a final punctuation mark, and all that share a character with a range of `keep`. */
export function protectedWords(text, keep = []) {
  const fixed = text.words.map((word) => keep.some(([start, end]) => word.start < end && start < word.end));
  if (text.final !== null) fixed[text.final] = true;
  return fixed;
}

/** All word-aligned spans of at most `mostPieces` pieces, empty ones included, in the order of the paper's Figure 1. */
export function enumerateSpans(text, mostPieces, keep = []) {
  const [fixed, { bounds }, count] = [protectedWords(text, keep), text, text.words.length];
  const spans = [];
  let stop = 0; // the first word that is too far away, or protected
  for (let i = 0; i <= count; i++) {
    stop = Math.max(stop, i);
    while (stop < count && !fixed[stop] && bounds[stop + 1] <= bounds[i] + mostPieces) stop++;
    for (let end = i + (inside(text, i, keep) ? 1 : 0); end <= stop; end++) spans.push({ start: i, stop: end });
  }
  return spans;
}

/** Whether a span, of any length, holds no protected word, and is not empty inside a range of `keep`. */
export function mayBeEdited(text, span, keep = []) {
  if (span.start === span.stop) return !inside(text, span.start, keep);
  return !protectedWords(text, keep).slice(span.start, span.stop).some(Boolean);
}

/** Whether what is inserted before word i would stand inside a range of `keep`. */
function inside(text, i, keep) {
  const left = i ? text.words[i - 1].end : 0;
  const right = i < text.words.length ? text.words[i].start : text.source.length;
  return keep.some(([start, end]) => start < left && right < end);
}
