"""Whole documents for masker edit: they come out as they are, but for their prose."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from masker.cli._editing import Failures, rewrites
from masker.cli._output import writer
from masker.data.documents import KEEP, Document, kind_of
from masker.data.formats import LINE_WRITERS, read_text
from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.scale.job import Job


def edit_document(
    job: "Job", file: Path, out: Path | None, failures: Failures, *, format: str | None, device: str | None,
    encoding: str,
) -> None:  # fmt: skip
    """Write a document with its prose rewritten; as jsonl, what has changed in it."""
    if format not in (None, "jsonl"):
        raise MaskerError(f"a document comes out whole, or as jsonl, not as {format}; drop --format")
    document = Document.read(read_text(file, encoding), kind_of(file))
    job = replace(job, options={**job.options, "keep": [*job.options.get("keep", ()), *KEEP]})
    failures.name = lambda number: f"line {document.position(document.prose[number - 1].start)[0]}"
    with writer(out, "utf-8" if format else encoding) as sink:
        done = document.rewrite(
            rewrites(job, document.texts, failures, shown=False, device=device, encoding=encoding, unit="paragraphs")
        )
        if format is None:
            sink.write(done.text)
        else:
            sink.writelines(LINE_WRITERS[format].line(record, "\n") for record in done.to_dicts())
