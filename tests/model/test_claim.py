import os
import subprocess
import sys
from pathlib import Path

import pytest

from masker.errors import MaskerError
from masker.model.claim import WRITTEN, check_begun, check_free, claimed
from masker.model.folder import CARDS, SETTINGS


@pytest.mark.parametrize("name", WRITTEN)
def test_files_of_the_users_are_not_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    (tmp_path / "notes.txt").write_text("mine")
    with (
        pytest.raises(MaskerError, match=rf"has a {name} that would be overwritten, and is not a model"),
        claimed(tmp_path, SETTINGS),
    ):
        pass
    assert sorted(os.listdir(tmp_path)) == sorted([name, "notes.txt"])
    (tmp_path / SETTINGS).touch()  # it is a model of ours
    check_free(tmp_path, SETTINGS)


@pytest.mark.parametrize("card", CARDS)
def test_one_thing_does_not_take_the_place_of_another(tmp_path: Path, card: str) -> None:
    for other, what in CARDS.items():
        folder = tmp_path / other
        folder.mkdir()
        (folder / other).touch()
        if other == card:
            check_free(folder, card)
        else:
            with pytest.raises(MaskerError, match=f"is {what}; give another folder for {CARDS[card]}"):
                check_free(folder, card)


def test_a_folder_of_other_things_is_as_good_as_any(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with claimed(tmp_path, SETTINGS):
        pass
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_nothing_is_left_where_nothing_was_made(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), claimed(tmp_path / "new", SETTINGS):
        print(1 // 0)
    assert not os.listdir(tmp_path)


def test_where_there_can_be_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "in" / "it"):
        with pytest.raises(MaskerError, match="file is a file; give another folder"), claimed(folder, SETTINGS):
            pass
    with pytest.raises(MaskerError, match="- is none; give its name"), claimed(Path("-"), SETTINGS):
        pass
    with (
        pytest.raises(MaskerError, match=r"cannot write .*: File name too long"),
        claimed(tmp_path / ("x" * 300), SETTINGS),
    ):
        pass


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_what_cannot_be_written_to_shows_at_once(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(MaskerError, match="Permission denied"), claimed(tmp_path / "new", SETTINGS):
        pass


def test_one_run_at_a_time_but_the_same_may_claim_twice(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from masker.model.claim import claimed
with claimed(Path({str(tmp_path)!r}), "masker.json"):
    pass
"""
    with claimed(tmp_path, SETTINGS), claimed(tmp_path, SETTINGS):
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "another run is writing" in other.stderr
    assert not os.listdir(tmp_path)


def test_a_run_that_can_be_gone_on_with_is_not_lost(tmp_path: Path) -> None:
    check_begun(tmp_path, resume=False)
    (tmp_path / "checkpoints" / "step-00000001").mkdir(parents=True)
    check_begun(tmp_path, resume=True)
    with pytest.raises(MaskerError, match=r"has an unfinished run; go on with `resume`, or remove .*checkpoints"):
        check_begun(tmp_path, resume=False)
