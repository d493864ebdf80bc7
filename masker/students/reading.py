"""Editing with holes, which FelixInsert and Bert2Bert share: of a long text only the beginning is read."""

from collections.abc import Callable, Sequence

import numpy as np

from masker.core.batching import by_length
from masker.core.text import Text
from masker.core.vocabulary import Vocabulary
from masker.runtime.memory import InParts
from masker.students.holes import Hole, beginning, realise

BATCH_TOKENS = 65_536  # in a batch of texts to edit


def edit_beginnings(
    vocabulary: Vocabulary,
    texts: Sequence[str],
    pieces: int,
    find: Callable[[list[Text]], list[list[Hole]]],
    in_parts: InParts,
    *,
    at_most: int,
) -> list[str]:
    """Rewrite texts, the first `pieces` pieces of each; what is beyond them stays as it is.

    `find` tells the holes of texts of like length, `at_most` so many of them.
    """
    read = [vocabulary.read(text) for text in texts]
    seen = [beginning(text, pieces) for text in read]
    worded = np.array([i for i, text in enumerate(seen) if text.words], dtype=np.int64)
    results = list(texts)
    lengths = [len(text.pieces) for text in seen]
    for batch in by_length(lengths, BATCH_TOKENS, worded, at_most=at_most):
        found = in_parts.rows(find, [seen[i] for i in batch], lengths[batch[0]])
        for i, holes in zip(batch.tolist(), found, strict=True):
            results[i] = realise(vocabulary, read[i], holes)
    return results
