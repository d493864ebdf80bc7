"""DiscoFuse's files as they were released (Geva et al. 2019): pairs of sentences, fused and not, with eight columns.

A release is a folder for each domain, `wikipedia` and `sports`, with train.tsv, dev.tsv and test.tsv, and the same with
`_balanced` in their names, which the paper and most others use.
"""

from collections.abc import Sequence
from pathlib import Path

from masker.data.formats.decoding import PACKED
from masker.errors import MaskerError

FUSED = ("coherent_first_sentence", "coherent_second_sentence")
UNFUSED = ("incoherent_first_sentence", "incoherent_second_sentence")
KIND = "discourse_type"
STAND_IN = "fusion"  # the folder of a corpus in the same format, where DiscoFuse is not at hand


def is_header(cells: Sequence[str]) -> bool:
    return {*FUSED} <= {*cells}


def split_file(data: Path, split: str) -> Path:
    """The file of a split: in a folder of the release, or in the folder `fusion` of others; or `data`, if it is one."""
    if not data.is_dir():
        return data
    names = [f"{split}{kind}.tsv{packed}" for kind in ("_balanced", "") for packed in ("", *sorted(PACKED))]
    for path in [folder / name for folder in (data / STAND_IN, data) for name in names]:
        if path.is_file():
            return path
    raise MaskerError(f"no {names[0]} in {data}; give a folder of DiscoFuse's release, such as discofuse_v1/wikipedia")


def is_stand_in(path: Path) -> bool:
    """Whether a file is of the corpus that stands in for DiscoFuse."""
    return path.resolve().parent.name == STAND_IN
