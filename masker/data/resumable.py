"""A file of lines that is written over hours and may be cut off at any byte.

What is written is OUT.part, and nothing else says how far a run has come: so many whole lines are there, so many lines
of the input are done. Half a line at its end is cut off. OUT.part.json tells how the run was begun.
"""

import fcntl
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

from masker.errors import MaskerError


class ResumableFile:
    """OUT.part, open at the end of its last whole line. When all has gone well it takes the place of OUT."""

    def __init__(self, out: Path, how: dict[str, Any], resume: bool) -> None:
        if out.is_dir():
            raise MaskerError(f"{out} is a folder; give a file name")
        if not out.parent.is_dir():
            raise MaskerError(f"there is no folder {out.parent} to write {out.name} in")
        if out.exists() and not out.is_file():
            raise MaskerError(f"{out} is no plain file, so that a run could not be continued; give a file name")
        self.out = out.resolve()  # what a link points to is replaced, not the link
        self.path = self.out.with_name(self.out.name + ".part")
        self.card = self.out.with_name(self.out.name + ".part.json")
        self.how, self.resume = how, resume
        self.file: BinaryIO | None = None
        self.lines = 0

    def __enter__(self) -> "ResumableFile":
        known = self._known()
        if known is not None and not self.path.exists():  # killed after the last step but one
            self.card.unlink()
            if self.resume and self.out.exists():
                return self
            known = None
        elif self.resume and known is None and self.out.exists() and not self.path.exists():
            raise MaskerError(f"{self.out} is there already, and no unfinished run; remove it to start anew")
        self.file = open(self.path, "a+b")
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # which no child inherits
        except OSError as error:
            self.file.close()
            raise MaskerError(f"another run is writing {self.path}; wait for it, or choose another --out") from error
        self._begin(known)
        return self

    def _known(self) -> dict[str, Any] | None:
        try:
            return dict(json.loads(self.card.read_text("utf-8")))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise MaskerError(f"{self.card} is not how a run was begun ({error}); remove it and the .part") from error

    def _begin(self, known: dict[str, Any] | None) -> None:
        assert self.file is not None
        length = whole = self.lines = 0
        self.file.seek(0)
        while block := self.file.read(2**20):
            self.lines += block.count(b"\n")
            whole = length + block.rfind(b"\n") + 1 if b"\n" in block else whole
            length += len(block)
        if length and not self.resume:
            raise MaskerError(f"{self.path} is an unfinished run; continue it with --resume, or remove it")
        if length and known is None:
            raise MaskerError(f"{self.card} is missing, so it is not known how the run was begun; remove {self.path}")
        if self.resume and known is not None:
            for name, now in self.how.items():
                if known.get(name) != now:
                    was = f"{name.strip('_')} {json.dumps(known.get(name))}, now {json.dumps(now)}"
                    raise MaskerError(f"the run was begun with {was}; resume it with the same, or remove {self.path}")
        self.file.truncate(whole)
        if known != self.how:
            scratch = self.card.with_name(self.card.name + ".new")
            scratch.write_text(json.dumps(self.how, ensure_ascii=False), "utf-8")
            os.replace(scratch, self.card)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.file is None:
            return
        with self.file:
            if kind is None:
                os.fsync(self.file.fileno())
                os.replace(self.path, self.out)
                self.card.unlink(missing_ok=True)
            elif os.fstat(self.file.fileno()).st_size == 0:  # nothing is lost with it
                self.path.unlink()
                self.card.unlink(missing_ok=True)
