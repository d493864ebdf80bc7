"""Files of a run: found, read, unpacked, and put in their place whole."""

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from masker.errors import MaskerError
from masker.scale.storage import Files


def test_files_are_found_in_order_with_their_sizes(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "[x].txt"):
        (tmp_path / name).write_bytes(b"1234")
    (tmp_path / "c.txt").mkdir()
    found = Files().match(str(tmp_path / "?.txt"))
    assert [(Path(path).name, size) for path, size in found] == [("a.txt", 4), ("b.txt", 4)]
    assert len(Files().match(str(tmp_path / "[x].txt"))) == 1  # a file of that very name
    assert Files().match(str(tmp_path / "none*")) == []


@pytest.mark.parametrize(
    ("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)]
)
def test_packed_files_are_unpacked(tmp_path: Path, ending: str, pack: object) -> None:
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(pack(b"one\ntwo\n"))  # type: ignore[operator]
    with Files().open(str(path)) as file:
        assert file.readline() == b"one\n"
        file.seek(0)
        assert file.read() == b"one\ntwo\n"


def test_what_cannot_be_unpacked_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zst").write_bytes(b"x")
    with pytest.raises(MaskerError, match="only Beam reads"):
        Files().open(str(tmp_path / "a.zst"))


def test_a_file_is_put_whole_and_nothing_is_left_behind(tmp_path: Path) -> None:
    scratch, path = str(tmp_path / "out.temp"), tmp_path / "out.txt"
    Files().put(str(path), b"one", scratch)
    Files().put(str(path), b"two", scratch)
    assert path.read_bytes() == b"two"
    Files().remove(scratch)
    Files().remove(scratch)
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_other_stores_go_by_fsspec(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    path = f"file://{tmp_path}/a.txt"
    Files().put(path, b"one", "")
    assert [size for _, size in Files().match(f"file://{tmp_path}/*.txt")] == [3]
    with Files().open(path) as file:
        assert file.read() == b"one"
    with pytest.raises(MaskerError, match="cannot open nothing://x"):
        Files().match("nothing://x")
