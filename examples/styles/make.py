"""Makes casual.txt and formal.txt, the two piles of the tutorial, out of Yelp's training lines.

    python examples/styles/make.py $MASKER_DATA examples/styles

Casual lines are as people wrote them, formal ones are other lines, turned by the rules below: there are no pairs, but
everybody can see how a casual line should come out.
"""

import gzip
import random
import re
import sys
from pathlib import Path

from masker.core.prose import as_written

LINES = 700  # of each
WORDS = range(6, 19)
RULES = [
    (r"\bcan't\b", "cannot"),
    (r"\bwon't\b", "will not"),
    (r"n't\b", " not"),
    (r"\b(I)'m\b", r"\1 am"),
    (r"'re\b", " are"),
    (r"'ve\b", " have"),
    (r"'ll\b", " will"),
    (r"\b(it|that|there|here|what)'s\b", r"\1 is"),
    (r"\bgonna\b", "going to"),
    (r"\bwanna\b", "want to"),
    (r"\bguys\b", "employees"),
    (r"\bguy\b", "gentleman"),
    (r"\bkids\b", "children"),
    (r"\byummy\b", "delicious"),
    (r"\bawesome\b", "excellent"),
    (r"\bpretty (?=good|bad|nice|slow|much)", "rather "),
    (r"\ba lot\b", "very much"),
    (r"\bthanks\b", "thank you"),
    (r"\bokay\b|\bok\b", "acceptable"),
]


def formal(text: str) -> str:
    for pattern, new in RULES:
        text = re.sub(pattern, lambda m, new=new: _as(m[0], m.expand(new)), text, flags=re.IGNORECASE)
    return text


def _as(old: str, new: str) -> str:
    return new[0].upper() + new[1:] if old[0].isupper() else new


def main(data: Path, out: Path) -> None:
    found: set[str] = set()
    for side in "01":
        with gzip.open(data / "yelp" / f"sentiment.train.{side}.gz", "rt", encoding="utf-8") as file:
            found.update(as_written(line.strip()) for line in file if "_num_" not in line)
    casual = sorted(line for line in found if len(line.split()) in WORDS and line.isascii() and formal(line) != line)
    random.Random(0).shuffle(casual)
    piles = {"casual": casual[:LINES], "formal": [formal(line) for line in casual[LINES : 2 * LINES]]}
    for name, lines in piles.items():
        (out / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
