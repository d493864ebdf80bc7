"""Readers of aligned pairs: every format as published, told by its first line, and errors that know their line."""

import gzip
import lzma
import os
from itertools import islice
from pathlib import Path

import pytest

from masker.data.pairs import AlignedPair, read_pairs
from masker.errors import MaskerError

DISCOFUSE = (
    "coherent_first_sentence\tcoherent_second_sentence\tincoherent_first_sentence\tincoherent_second_sentence\t"
    "discourse_type\tconnective_string\thas_coref_type_pronoun\thas_coref_type_nominal\n"
    'it rained , "but" we went .\t\tit rained .\twe went .\tSINGLE_S_COORD\t, but\t0.0\t0.0\n'
    "it rained .\thowever , we went .\tit rained .\twe went .\tPAIR_CONN\thowever\t0.0\t0.0\n"
)
WIKISPLIT = "it rained and we went .\tit rained . <::::> we went .\n"
SILVER = 'source\ttarget\tscore\tsimilarity\tline\tedits\na b .\ta c .\t0.5\t0.6\t7\t[{"old": "c"}]\n'
FUSION = [
    AlignedPair("it rained . we went .", 'it rained , "but" we went .', "SINGLE_S_COORD"),
    AlignedPair("it rained . we went .", "it rained . however , we went .", "PAIR_CONN"),
]


def read(tmp_path: Path, text: str, name: str = "pairs.tsv", **options: object) -> list[AlignedPair]:
    data = text.encode()
    pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(Path(name).suffix, bytes)
    (tmp_path / name).write_bytes(pack(data))
    return list(read_pairs(tmp_path / name, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.tsv.xz"])
@pytest.mark.parametrize("format", [None, "discofuse"])
def test_discofuse(tmp_path: Path, name: str, format: str | None) -> None:
    assert read(tmp_path, DISCOFUSE, name, format=format) == FUSION


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    text = "".join("\t".join(reversed(line.split("\t"))) + "\n" for line in DISCOFUSE.splitlines())
    assert read(tmp_path, text) == FUSION


@pytest.mark.parametrize("format", [None, "wikisplit"])
def test_wikisplit_goes_from_one_sentence_to_two(tmp_path: Path, format: str | None) -> None:
    assert (
        read(tmp_path, WIKISPLIT * 2, format=format)
        == [AlignedPair("it rained and we went .", "it rained . we went .")] * 2
    )


@pytest.mark.parametrize("format", [None, "silver"])
def test_silver(tmp_path: Path, format: str | None) -> None:
    assert read(tmp_path, SILVER, format=format) == [("a b .", "a c .", "", "")]


def test_plain_columns_with_and_without_a_header(tmp_path: Path) -> None:
    assert read(tmp_path, "a\tb\n\nc\td\r\n") == [("a", "b", "", ""), ("c", "d", "", "")]
    assert read(tmp_path, "source\ttarget\ttype\na\tb\tT\n") == [("a", "b", "T", "")]
    assert read(tmp_path, "source\ttarget\na\tb\n") == [("a", "b", "", "")]
    assert read(tmp_path, "source\ttarget\tto\na\tb\tcivil\n") == [("a", "b", "", "civil")]


def test_reverse_swaps_the_sides(tmp_path: Path) -> None:
    assert read(tmp_path, "a\tb\n", reverse=True) == [("b", "a", "", "")]
    assert read(tmp_path, DISCOFUSE, reverse=True)[0].source == FUSION[0].target


def test_it_streams(tmp_path: Path) -> None:
    """A bad line behind the first does no harm to who asks for the first only."""
    (tmp_path / "a.tsv").write_text("a\tb\nbad\n")
    assert list(islice(read_pairs(tmp_path / "a.tsv"), 1)) == [("a", "b", "", "")]


@pytest.mark.parametrize(
    ("text", "format", "named"),
    [
        ("a\tb\nc\n", None, "line 2: 1 columns where 2"),
        ("a\tb\tc\n", None, "line 1: 3 columns where 2"),
        (DISCOFUSE + "x\ty\n", None, "line 4: 2 columns where 8"),
        (WIKISPLIT + "a\tb\n", None, "line 2: WikiSplit"),
        (WIKISPLIT + "a\tb <::::>\n", None, "line 2: WikiSplit"),
        ("a\tb\n\nc\t \n", None, "line 3: the target is empty"),
        ("a\tb\n \tc\n", None, "line 2: the source is empty"),
        ("a\tb\n", "discofuse", "line 1: the header of discofuse lacks coherent_first_sentence"),
        ("source\ttarget\na\tb\n", "silver", "lacks score"),
        ("a\tb\n", "csv", "unknown format of pairs 'csv'; known: discofuse, wikisplit, silver, tsv"),
        ("", None, "is empty"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, format: str | None, named: str) -> None:
    with pytest.raises(MaskerError, match=r".") as error:
        read(tmp_path, text, format=format)
    assert named in str(error.value)


@pytest.mark.skipif(not os.environ.get("MASKER_DATA"), reason="set MASKER_DATA to the data folder")
def test_the_fusion_corpus() -> None:
    pairs = list(read_pairs(Path(os.environ["MASKER_DATA"], "fusion", "dev.tsv.gz")))
    assert len(pairs) == 5000
    assert len({pair.type for pair in pairs}) == 13
    assert sum(pair.source == pair.target for pair in pairs) == sum(pair.type == "PAIR_NONE" for pair in pairs) > 200
