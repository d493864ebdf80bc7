"""What is to be done with every text, and what does it: the same in one process, in many, and on many machines."""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from masker.core.editor import Editor, edit_stream
from masker.core.edits import Rewrite
from masker.core.guarded import Guarded, refusal
from masker.data.formats import LINE_WRITERS


@dataclass(frozen=True)
class Job:
    """What is to be done with every text, in a form that can be sent to another process or machine.

    `model` is a Masker or a student; `options` are those of Masker.edit_stream; `exact` is float32 alone.
    """

    to: str
    from_: str | None = None
    model: str | None = None
    source_model: str | None = None
    max_words: int = 2000
    options: dict[str, Any] = field(default_factory=dict)
    exact: bool = False

    def load(self, device: str | None = None, *, keep_going: bool = False) -> "LoadedJob":
        return LoadedJob(self, device, keep_going=keep_going)


class LoadedJob:
    """A loaded job. Of `edit` threads take turns: the arithmetic is not theirs, and memory stays that of one.

    If it is to `keep_going`, a text that cannot be edited comes out as it was, with an `error`.
    """

    def __init__(self, job: Job, device: str | None = None, *, keep_going: bool = False) -> None:
        from masker.model.reader import NO_READER
        from masker.runtime.reader import load_reader
        from masker.students.base import Student, StudentEditor, is_student

        self.job = job
        self._lock = threading.Lock()
        self.stream: Callable[[Iterable[str]], Iterator[Rewrite]]  # texts are rewritten as they come
        if job.model is not None and is_student(job.model):
            taught = Student.from_pretrained(job.model, device=device, exact=job.exact)
            if (reader := job.options.get("reader")) not in (None, NO_READER):
                taught.use_reader(load_reader(reader, device, exact=job.exact))
            taught.edit([], job.to or None)  # a domain that it cannot write shows now
            student: Editor = StudentEditor(taught, job.to, job.from_)
            if keep_going:
                student = Guarded(student, job.to, job.from_, lambda text: refusal(text, job.max_words))
            self.stream = lambda texts: edit_stream(student, texts)
        else:
            from masker.api import Masker

            masker = Masker.from_pretrained(
                job.model, job.source_model, device=device, max_words=job.max_words, exact=job.exact
            )
            options = {**job.options, "keep_going": keep_going}
            self.stream = lambda texts: masker.edit_stream(texts, job.to, job.from_, **options)
            self._edit([])  # an unknown domain or a bad option shows now

    def edit(self, texts: Sequence[str]) -> list[Rewrite]:
        with self._lock:
            return self._edit(texts)

    def _edit(self, texts: Sequence[str]) -> list[Rewrite]:
        return list(self.stream(texts))


def render(rewrite: Rewrite, ending: str, format: str, mark: str = "") -> str:
    """A line of output; `ending` is that of the line that came in, and `mark` its byte order mark."""
    return (mark if format == "lines" else "") + LINE_WRITERS[format].line(rewrite.to_dict(), ending)


def one_thread() -> None:
    """For a process that has a core to itself: N of them with N threads each would be in each other's way."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
