"""Whole files on many workers, whichever engine has them: every block of the input becomes one shard of the output.

`cat out-*` is then what one machine would have written. A shard appears whole or not at all, whichever worker writes it
and however often, so that a run can be continued: blocks whose shard is there are left out.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from masker.core.edits import Rewrite
from masker.data.formats import WRITERS
from masker.data.formats.text import Lines, Tsv, tsv_line
from masker.errors import MaskerError, unknown
from masker.scale.blocks import Block, check_column, located, plan, read
from masker.scale.job import Job
from masker.scale.outcomes import Failure, Outcome
from masker.scale.silver import COLUMNS, SilverSettings, as_rows, why_no_pair
from masker.scale.storage import Storage

# columns of a rewrite
OURS = ("source", "text", "from", "to", "edits", "reason", "method", "error", "alternatives", "confidence")


@dataclass(frozen=True)
class Shards:
    """Where a run writes: `out.jsonl` becomes out-00000-of-00012.jsonl and so on."""

    output: str
    count: int
    format: str
    column: str | None = None
    silver: SilverSettings | None = None

    def name(self, shard: int, kind: str = "") -> str:
        prefix, ending = os.path.splitext(self.output)
        return f"{prefix}{kind}-{shard:05d}-of-{self.count:05d}{'.jsonl' if kind else ending}"

    @property
    def scratch(self) -> str:
        return os.path.splitext(self.output)[0] + ".temp"

    @property
    def card(self) -> str:
        return os.path.splitext(self.output)[0] + ".run.json"

    def texts(self, block: Block, storage: Storage) -> list[Any]:
        """The texts of a block, and in the places of those that cannot be read, why."""
        texts = [text for text, _, _ in read(block, self.column, storage)]
        if self.silver is not None:  # pairs are columns, which a text must not part
            texts = [text.replace("\t", " ") if isinstance(text, str) else text for text in texts]
        return texts

    def write(self, block: Block, outcomes: Sequence[Outcome], storage: Storage) -> Counter[str]:
        """Put a shard in its place; gives how many silver pairs were kept, and why not.

        Ends of lines and other fields are read once more: they need not travel.
        """
        rows = list(zip(outcomes, read(block, self.column, storage), strict=True))
        failed = [outcome.to_dict() for outcome in outcomes if isinstance(outcome, Failure)]
        for record in failed:
            record["key"] = [record["key"][0].path, record["key"][0].start, record["key"][1]]
        if failed:  # first: where the shard is there, so is this
            lines = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in failed)
            storage.put(self.name(block.shard, "-failed"), lines.encode(), self.scratch)
        counts = Counter[str]()
        storage.put(self.name(block.shard), self._bytes(block, rows, counts), self.scratch)
        return counts

    def _bytes(
        self, block: Block, rows: list[tuple[Any, tuple[Any, str, dict[str, Any]]]], counts: Counter[str]
    ) -> bytes:
        if self.silver is not None:
            header = tsv_line(COLUMNS) if block.shard == 0 else ""
            return (header + "".join(_pairs([outcome for outcome, _ in rows], self.silver, counts))).encode()
        writer = WRITERS[self.format]
        if isinstance(writer, Lines | Tsv):
            return writer.write((_bare(outcome), ending) for outcome, (_, ending, _) in rows)
        return writer.write((joined(fields, _dict(outcome)), ending) for outcome, (_, ending, fields) in rows)


def _pairs(outcomes: Sequence[Any], settings: SilverSettings, counts: Counter[str]) -> Iterator[str]:
    for number, outcome in enumerate(outcomes, 1):
        if isinstance(outcome, Failure):  # which the engine counts
            continue
        why = why_no_pair(outcome, settings)
        counts["silver_" + (why or "kept")] += 1
        if why is None:
            yield as_rows(number, outcome, settings.synthetic)


def joined(fields: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """A rewrite beside the other columns of its record: one of theirs that is called as one of ours is `input_NAME`."""
    theirs = {}
    for name, value in fields.items():
        while name in OURS or name in theirs:
            name = f"input_{name}"
        theirs[name] = value
    return {**theirs, **ours}


def _dict(outcome: Any) -> dict[str, Any]:
    if isinstance(outcome, Rewrite):
        return outcome.to_dict()
    source = outcome.to_dict()["source"]
    said = {"from": None, "to": None, "edits": [], "reason": "failed: " + outcome.reason}
    return {"source": source, "text": source, **said}


def _bare(outcome: Any) -> dict[str, str]:
    """What a line is made of; what could not be edited comes out as it went in, so that no line is lost."""
    if isinstance(outcome, Rewrite):
        return {"source": outcome.source, "text": outcome.text}
    source = outcome.source
    source = source.decode("utf-8", "surrogateescape") if isinstance(source, bytes) else str(source or "")
    return {"source": source, "text": source}


# -- a run -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What is to be done, where it is written, and the blocks that are left to do."""

    job: Job
    shards: Shards
    todo: list[Block]
    storage: Storage

    @classmethod
    def begin(
        cls, job: Job, inputs: Sequence[str], output: str, storage: Storage, *, format: str | None = None,
        column: str | None = None, shards: int | None = None, silver: SilverSettings | None = None,
        resume: bool = False,
    ) -> "Run":  # fmt: skip
        """Cut the inputs into blocks, and see which are done. What is wrong shows here, before any worker starts."""
        blocks = plan(inputs, shards, storage)
        target = Shards(located(output), len(blocks), _format(output, format), column, silver)
        made: dict[str, Any] = {"job": asdict(job), "output": asdict(target)}
        made["blocks"] = hashlib.sha256(json.dumps([asdict(block) for block in blocks]).encode()).hexdigest()
        run = cls(job, target, _remaining(blocks, target, made, storage, resume=resume), storage)
        if run.todo:
            check_column(blocks, column, storage)
            if job.model is None or "://" not in job.model:
                job.load("cpu")  # a misspelt domain or folder is better heard of here than from a thousand logs
            storage.put(target.card, json.dumps(made, indent=1).encode(), target.scratch)
        return run

    def end(self) -> None:
        self.storage.remove(self.shards.scratch)


def _format(output: str, format: str | None) -> str:
    ending = os.path.splitext(output)[1].lower()
    by_ending = {suffix: name for name, writer in WRITERS.items() for suffix in writer.suffixes}
    format = format or by_ending.get(ending, ending)
    if format not in WRITERS:
        raise unknown("format", format, list(WRITERS))
    return format


def _remaining(
    blocks: list[Block], target: Shards, made: dict[str, Any], storage: Storage, *, resume: bool
) -> list[Block]:
    """The blocks whose shard is not there yet. Shards of another run are never mixed in."""
    prefix, ending = os.path.splitext(target.output)
    there = {file.path for file in storage.match(f"{prefix}-*-of-*{ending}")}
    there = {path for path in there if not path.startswith(f"{prefix}-failed-")}
    if there and not resume:
        raise MaskerError(f"{min(there)} is there already; go on with `resume`, or remove it and its like")
    if there:
        if not storage.match(target.card):
            raise MaskerError(f"{target.card} is missing, so it is not known how {min(there)} was made; remove both")
        with storage.open(target.card) as file:
            if json.loads(file.read()) != json.loads(json.dumps(made)):
                raise MaskerError(f"{target.card} tells of a run with other inputs or options; resume it with the same")
    done = {os.path.basename(path) for path in there}
    return [block for block in blocks if os.path.basename(target.name(block.shard)) not in done]
