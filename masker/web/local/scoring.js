// How much the two domains disagree about spans, as core/scoring.py and core/padding.py have it.
//
//   L1 = L(What | target)   What = the target domain's own infill, the best piece for every mask
//   L2 = L(W    | target)   W    = the words that stand there
//   L3 = L(What | source)   both domains are asked about the same masked input, L being the product over the n_p masks
//   L4 = L(W    | source)
//
//   TargetScore = L1 - L2        SourceScore = -max(0, L3 - L4)        Score = TargetScore + SourceScore

const BATCH_TOKENS = 1024;

/** Every span of a text with its likelihoods: {infill, L1, L2, L3, L4, target, source, score}. `pause` is awaited between batches. */
export async function scoreSpans(task, graph, text, spans, pause) {
  const rows = spans.map((span) => maskedRow(task, text, span));
  const scores = new Array(spans.length);
  for (const batch of byLength(rows.map((row) => row.length), BATCH_TOKENS)) {
    await pause();
    const some = batch.map((k) => rows[k]);
    const target = await graph.ask(withDomain(some, task.target), { asked: some.map((row) => row.old.map((piece) => [piece])), bias: task.bias });
    const infills = some.map((_, b) => target.best(b));
    let source = null;
    if (task.source !== null) {
      await pause();
      const asked = some.map((row, b) => row.old.map((piece, m) => [infills[b][m], piece]));
      source = await graph.ask(withDomain(some, task.source), { asked });
    }
    batch.forEach((k, b) => { scores[k] = scored(infills[b], target.bestLogP(b), target.askedLogP(b, 0), source?.askedLogP(b, 0), source?.askedLogP(b, 1)); });
  }
  return scores;
}

function scored(infill, ...logs) {
  const [L1, L2, L3, L4] = logs.map((log) => (log === undefined ? null : Math.exp(log)));
  const target = L1 - L2;
  const source = L3 === null ? 0 : -Math.max(0, L3 - L4) + 0;
  return { infill, L1, L2, L3, L4, target, source, score: target + source };
}

/** [CLS] [domain] w_1 .. w_{i-1} [MASK] x n_p w_{j+1} .. [SEP], in a window of a long text with the span in its middle. */
function maskedRow({ frame, window }, text, span) {
  const [start, stop, size] = [text.bounds[span.start], text.bounds[span.stop], text.pieces.length];
  const low = Math.min(Math.max(0, Math.floor((start + stop - window) / 2)), Math.max(0, size - window));
  const high = Math.min(size, low + window);
  const masks = Array(frame.masks).fill(frame.mask);
  const old = Array.from(masks, (_, m) => (start + m < stop ? text.pieces[start + m] : frame.pad)); // W and its [PAD]s
  const first = frame.start.length + 1 + start - low;
  const ids = [...frame.start, frame.pad, ...text.pieces.slice(low, start), ...masks, ...text.pieces.slice(stop, high), ...frame.end];
  return { ids, length: ids.length, slots: masks.map((_, m) => first + m), old, domain: frame.start.length };
}

const withDomain = (rows, token) => rows.map(({ ids, slots, domain }) => ({ ids: ids.with(domain, token), slots }));

/** Indices of rows, the longest first, in batches of at most so many tokens, padding included. */
export function byLength(lengths, tokens) {
  const order = lengths.map((_, k) => k).sort((a, b) => lengths[b] - lengths[a]);
  const batches = [];
  for (let at = 0; at < order.length;) {
    const size = Math.max(1, Math.floor(tokens / Math.max(1, lengths[order[at]])));
    batches.push(order.slice(at, at + size));
    at += size;
  }
  return batches;
}
