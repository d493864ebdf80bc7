"""AC-MLM without its classifier phase: the words that a selector finds are masked and filled by the target domain.

The masked LM is Masker's own, one for both domains, and it is padded: words that stand together become n_p masks. As
AC-MLM has one mask for every piece, as many of them are filled as there were pieces, the first ones, and the others
stay empty. All masks are filled at once, each with its best piece, as there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from masker.baselines.base import words_of
from masker.baselines.selectors import Selector
from masker.core.batching import by_length
from masker.core.candidates import written
from masker.core.edits import Edit, Rewrite, apply_edits, disjoint
from masker.core.padding import Masked, mask_spans
from masker.core.runtime import Pending, to_numpy
from masker.core.segments import Passage, Unit, passages
from masker.core.spans import Span, protected_words
from masker.core.task import Task
from masker.core.text import Text

_NOWHERE = 1 << 40


class MaskAndInfill:
    """A selector over the infilling of a task; `unit` is what is looked at as one."""

    prefetch = 0

    def __init__(self, name: str, task: Task, selector: Selector, *, unit: Unit = Unit(), chunk: int = 32) -> None:
        self.name, self.task, self.selector, self.unit, self.chunk = name, task, selector, unit, chunk

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        return lambda: self.edit(texts)

    def edit(self, texts: Sequence[str]) -> list[Rewrite]:
        found = [(k, p, self._spans(p)) for k, text in enumerate(texts) for p in passages(self.task, text, self.unit)]
        found = [(k, p, spans) for k, p, spans in found if spans]
        filled = self._fill([(p.text, spans) for _, p, spans in found])
        edits: list[list[Edit]] = [[] for _ in texts]
        for (k, p, spans), answers in zip(found, filled, strict=True):
            edits[k] += [edit for run in _runs(spans) if (edit := self._edit(p, spans, run, answers))]
        return [self._rewrite(text, disjoint(of_text)) for text, of_text in zip(texts, edits, strict=True)]

    def _spans(self, p: Passage) -> list[Span]:
        """What is masked, in parts of at most n_p pieces; a longer word is a part."""
        text, fixed = p.text, protected_words(p.text, p.keep)
        words = [text.word(i).lower() for i in range(p.words.start, p.words.stop)]
        chosen = sorted(i + p.words.start for i in self.selector.select(words, self.task.from_ or ""))
        spans = list[Span]()
        for i in chosen:
            if fixed[i] or text.bounds[i + 1] > self.task.window:
                continue
            last = spans[-1] if spans else None
            if last and last.stop == i and text.bounds[i + 1] - text.bounds[last.start] <= self.task.frame.n_p:
                spans[-1] = Span(last.start, i + 1)
            else:
                spans.append(Span(i, i + 1))
        return spans

    def _fill(self, rows: Sequence[tuple[Text, Sequence[Span]]]) -> list[list[tuple[list[int], float]]]:
        """As many pieces for every span of texts as it has, n_p at most, and their log-likelihood."""
        frame, target = self.task.frame, self.task.target
        allowed = self.task.allowed()
        allowed[frame.pad] = False
        bias = target.runtime.to_device(np.where(allowed, 0.0, -np.inf).astype(np.float32))
        lengths = [len(text.pieces[: self.task.window]) + frame.n_p * len(spans) + 3 for text, spans in rows]
        answers: list[list[tuple[list[int], float]]] = [[] for _ in rows]
        for batch in by_length(lengths, self.task.batch_tokens):
            masked = self._mask([rows[k] for k in batch.tolist()])
            asked = masked.targets.clip(0)[:, :, None]  # nothing is asked, but a runtime wants to be
            said = target.runtime(masked.with_domain(target.token), masked.attention, masked.slots, asked, bias)
            best, log_p = to_numpy(said.best)[:, :, 0], to_numpy(said.best_log_p)[:, :, 0]
            for row, k in enumerate(batch.tolist()):
                text, spans = rows[k]
                for s, span in enumerate(spans):
                    size = min(text.bounds[span.stop] - text.bounds[span.start], frame.n_p)
                    slots = slice(s * frame.n_p, s * frame.n_p + size)
                    answers[k].append((best[row, slots].tolist(), float(log_p[row, slots].sum())))
        return answers

    def _mask(self, rows: Sequence[tuple[Text, Sequence[Span]]]) -> Masked:
        most = max(len(spans) for _, spans in rows)
        starts, widths = np.full((len(rows), most), _NOWHERE), np.zeros((len(rows), most), np.int64)
        flat, ends = list[int](), [0]
        for k, (text, spans) in enumerate(rows):
            starts[k, : len(spans)] = [len(flat) + text.bounds[span.start] for span in spans]
            widths[k, : len(spans)] = [text.bounds[span.stop] - text.bounds[span.start] for span in spans]
            flat += text.pieces[: self.task.window]
            ends.append(len(flat))
        put = self.task.target.runtime.to_device
        pieces, lo, hi, at, size = (put(np.asarray(x, np.int64)) for x in (flat, ends[:-1], ends[1:], starts, widths))
        return mask_spans(pieces, lo, hi, at, size, self.task.frame, domain=True)

    def _edit(
        self, p: Passage, spans: Sequence[Span], run: range, answers: Sequence[tuple[list[int], float]]
    ) -> Edit | None:
        """Spans that touch, as one edit; its score is how likely the target domain finds the infill."""
        whole = Span(spans[run[0]].start, spans[run[-1]].stop)
        pieces = [piece for k in run for piece in answers[k][0]]
        r = written(self.task, p.text, whole, pieces, protected_words(p.text, p.keep))
        if r is None:
            return None
        score = float(np.exp(sum(answers[k][1] for k in run)))
        return Edit(r.start + p.offset, r.end + p.offset, p.text.source[r.start : r.end], r.new, score)

    def _rewrite(self, text: str, edits: Sequence[Edit]) -> Rewrite:
        rewrite = Rewrite(text, apply_edits(text, edits), self.task.from_, self.task.to, tuple(edits))
        if edits:
            return rewrite
        return replace(
            rewrite, reason="no word of it was chosen, or filled otherwise" if words_of(text) else "no words"
        )


def _runs(spans: Sequence[Span]) -> Iterator[range]:
    """Numbers of spans that touch."""
    first = 0
    for k in range(1, len(spans) + 1):
        if k == len(spans) or spans[k].start != spans[k - 1].stop:
            yield range(first, k)
            first = k
