"""Pairs of comments for the student in the package: `python comments.py toxic.txt civil.txt --out comments.tsv`.

The model makes toxic comments civil, of which those are taken that its critic accepts; and civil comments toxic, up to
three ways each: there the person's own comment is what the student learns to write. Needs a GPU: ten minutes of one.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from masker import Masker
from masker.core.edits import apply_edits

AT_A_TIME, DRAFTS, SURE = 512, 3, 0.4
OFTEN = 3  # what the critic accepts is rare: a pair counts so often


def made_civil(masker: Masker, lines: list[str]) -> Iterator[tuple[str, str]]:
    for rewrite in masker.edit_stream(lines, "civil", method="search"):
        if rewrite.edits and (rewrite.confidence or 0.0) >= SURE:
            yield from [(rewrite.source, rewrite.text)] * OFTEN


def made_toxic(masker: Masker, lines: list[str]) -> Iterator[tuple[str, str]]:
    settings = masker.model.settings
    settings.sources_only, settings.search["toxic"] = [], {"max_edits": 3}
    for at in range(0, len(lines), AT_A_TIME):
        for rewrite in masker.edit(lines[at : at + AT_A_TIME], "toxic", method="search", top=DRAFTS, confidence=False):
            for other in rewrite.alternatives or ():
                yield apply_edits(rewrite.source, other.edits), rewrite.source


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("toxic", type=Path)
    parser.add_argument("civil", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    masker = Masker.from_pretrained()
    toxic, civil = (path.read_text("utf-8").splitlines() for path in (options.toxic, options.civil))
    pairs = [*made_civil(masker, toxic), *made_toxic(masker, civil)]
    rows = [f"{source}\t{target}\tcivil\n" for source, target in pairs if "\t" not in source + target] * 2
    options.out.write_text("source\ttarget\tto\n" + "".join(rows), "utf-8")


if __name__ == "__main__":
    main()
