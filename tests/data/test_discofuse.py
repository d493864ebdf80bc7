"""DiscoFuse's release: its folders, and its columns as they are."""

import gzip
from pathlib import Path

import pytest

from masker.data.formats.discofuse import is_stand_in, split_file
from masker.data.pairs import read_pairs
from masker.errors import MaskerError

COLUMNS = [
    "coherent_first_sentence", "coherent_second_sentence", "incoherent_first_sentence",
    "incoherent_second_sentence", "discourse_type", "connective_string", "has_coref_type_pronoun",
    "has_coref_type_nominal",
]  # fmt: skip
ROWS = [
    ["It rained , but we went .", "", "It rained .", "We went .", "SINGLE_S_COORD", ", but", "0.0", "0.0"],
    ['She said " no " .', "She left .", 'She said " no " .', "Ann left .", "PAIR_ANAPHORA", "", "1.0", "0.0"],
]


def text() -> str:
    return "".join("\t".join(row) + "\n" for row in [COLUMNS, *ROWS])


def test_a_folder_of_the_release_gives_its_balanced_files(tmp_path: Path) -> None:
    folder = tmp_path / "wikipedia"
    folder.mkdir()
    for split in ("train", "dev", "test"):
        (folder / f"{split}.tsv").write_text(text())
    assert split_file(folder, "dev").name == "dev.tsv"
    (folder / "dev_balanced.tsv").write_text(text())
    dev = split_file(folder, "dev")
    assert dev.name == "dev_balanced.tsv"
    assert not is_stand_in(dev)
    assert [tuple(pair)[:3] for pair in read_pairs(dev)] == [
        ("It rained . We went .", "It rained , but we went .", "SINGLE_S_COORD"),
        ('She said " no " . Ann left .', 'She said " no " . She left .', "PAIR_ANAPHORA"),
    ]


def test_the_stand_in_is_known_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "fusion").mkdir()
    (tmp_path / "fusion" / "dev.tsv.gz").write_bytes(gzip.compress(text().encode()))
    assert is_stand_in(split_file(tmp_path, "dev"))
    assert split_file(tmp_path / "fusion" / "dev.tsv.gz", "test").name == "dev.tsv.gz"  # a file is what it is
    with pytest.raises(MaskerError, match=r"no train_balanced.tsv in .*; give a folder of DiscoFuse's release"):
        split_file(tmp_path, "train")
