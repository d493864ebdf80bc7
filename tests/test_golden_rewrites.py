"""Rewrites of the embedded model, kept word for word: what only moves code around must not change one of them.

`make test` compares a few of them, `make golden` all (minutes). After a change that is meant to alter rewrites:
`python tests/test_golden_rewrites.py` writes them anew; read the difference before you commit it.
"""

import csv
import gzip
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from masker import Masker

GOLDEN = Path(__file__).parent / "golden" / "rewrites.jsonl"
RAW = Path(__file__).parent / "golden" / "raw.txt"
METHODS = ("paper", "search")
FEW = 4  # of every kind that `make test` compares


class Case(NamedTuple):
    """Texts that go to one domain. Those of corpora are not kept here, only what became of them."""

    name: str
    to: str
    texts: list[str]


def cases(data: Path | None) -> Iterator[Case]:
    raw = RAW.read_text("utf-8").splitlines()
    yield Case("raw", "positive", raw[:20])
    yield Case("raw", "negative", raw[20:])
    if data is None:
        return
    for number, to in ((0, "positive"), (1, "negative")):
        with open(data / "yelp" / f"sentiment.test.{number}", encoding="utf-8") as lines:
            yield Case("yelp", to, [line.rstrip("\n") for line in itertools.islice(lines, 100)])
    with gzip.open(data / "fusion" / "test.tsv.gz", "rt", encoding="utf-8") as file:
        rows = list(itertools.islice(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), 20))
    for to, side in (("fused", "incoherent"), ("split", "coherent")):
        halves = [[row[f"{side}_{part}_sentence"].strip() for part in ("first", "second")] for row in rows]
        yield Case("fusion", to, [" ".join(filter(None, pair)) for pair in halves])


def data_folder() -> Path | None:
    return Path(os.environ["MASKER_DATA"]) if os.environ.get("MASKER_DATA") else None


@pytest.mark.parametrize("method", METHODS)
def test_rewrites_are_those_that_were_kept(method: str) -> None:
    data, few = data_folder(), None if os.environ.get("MASKER_GOLDEN") == "all" else FEW
    kept = {(k["name"], k["to"], k["method"]): k["texts"] for k in map(json.loads, GOLDEN.open(encoding="utf-8"))}
    masker = Masker.from_pretrained(device="cpu", exact=True)
    for case in cases(data):
        made = [r.text for r in masker.edit(case.texts[:few], to=case.to, method=method)]
        assert made == kept[case.name, case.to, method][:few], f"{case.name} to {case.to}"
    if data is None:
        pytest.skip("MASKER_DATA is not set: only the raw sentences were compared")


if __name__ == "__main__":
    masker = Masker.from_pretrained(device="cpu", exact=True)
    with GOLDEN.open("w", encoding="utf-8") as out:
        for case, method in itertools.product(cases(data_folder()), METHODS):
            texts = [r.text for r in masker.edit(case.texts, to=case.to, method=method)]
            record = {"name": case.name, "to": case.to, "method": method, "texts": texts}
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
            print(case.name, case.to, method, len(texts), flush=True)
