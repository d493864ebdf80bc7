"""The paper's third footnote, the other way: SourceScore without its cap at zero, by the embedded model.

    python experiments/yelp/uncapped.py $MASKER_DATA runs/uncapped

edits the test set in both directions; `masker evaluate` scores what it writes. Ten minutes on two cores.
"""

import sys
from pathlib import Path

from masker import Masker
from masker.core import scoring

data, out = map(Path, sys.argv[1:])
scoring.source_score = lambda L3, L4: L4 - L3
out.mkdir(parents=True, exist_ok=True)
masker = Masker.from_pretrained(prune=False)  # pruning counts on the cap
for i, to in enumerate(("positive", "negative")):
    lines = (data / "yelp" / f"sentiment.test.{i}").read_text("utf-8").splitlines()
    rewrites = masker.edit_stream(lines, to, method="paper", confidence=False)
    (out / f"{i}.txt").write_text("".join(rewrite.text + "\n" for rewrite in rewrites), "utf-8")
