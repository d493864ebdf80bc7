"""A sample of ParaDetox (Logacheva et al. 2022), comments with up to three civil paraphrases of each by people.

    python experiments/detox/paradetox.py paradetox.tsv runs/paradetox

takes the rows that lie whole in some stretches of the file, in its version of 1,628,032 characters: 320 to measure
with, and 916 others, which the order of a few lines of the phrase book was chosen by. Writes test.toxic.txt and
test.ref1.txt to ref3.txt, and dev.* likewise; where people gave fewer than three paraphrases, the first one stands for
those that lack.
"""

import csv
import sys
from pathlib import Path

STRETCH = 16_000  # characters
STARTS = {
    "test": (325_600, 814_000, 1_302_400),
    "dev": (80_000, 190_000, 560_000, 690_000, 950_000, 1_080_000, 1_450_000, 1_560_000),
}


def rows(text: str, starts: tuple[int, ...]) -> list[list[str]]:
    """Those that lie whole in the stretches, each a comment and its paraphrases."""
    whole = [line for start in starts for line in text[start : start + STRETCH].split("\n")[1:-1]]
    found = csv.reader((f"{line}\n" for line in whole), delimiter="\t")
    return [[" ".join(cell.split()) for cell in row] for row in found]


def main(tsv: str, folder: str) -> None:
    text, out = Path(tsv).read_text("utf-8"), Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for part, starts in STARTS.items():
        found = rows(text, starts)
        for k, name in enumerate(("toxic", "ref1", "ref2", "ref3")):
            lines = [row[k] or row[1] for row in found]
            (out / f"{part}.{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        print(f"{part}: {len(found)} comments", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
