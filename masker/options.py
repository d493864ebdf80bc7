"""The options of editing, as keywords: what each is, with its type."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TypedDict


class TaskOptions(TypedDict, total=False):
    """What may not be touched or inserted."""

    source_score: bool
    """False is the paper's ablation: only the target domain is asked."""
    protect: str | re.Pattern[str] | None
    """What this pattern matches stays as it is, besides numbers, links, accounts, tags, code and quoted names; "none"
    protects nothing, "names" also names in capitals. The paper's method protects only what it is told to."""
    keep: Collection[str]
    """Terms that stay as they are."""
    forbid: Collection[str]
    """Words that are never inserted."""


class EditOptions(TaskOptions, total=False):
    """How texts are rewritten."""

    method: str | None
    """"auto", the default: "fast", the model's student, and "search" where that is not good enough. For what the model
    has no student: "search". "paper" is the paper's method."""
    strength: float | None
    """The search editor goes on until the classifiers are so sure of the target domain: a probability."""
    max_edits: int | None
    """Up to so many edits are made in a sentence; in a text by the paper's method, and where the domains differ in how
    texts are cut into sentences."""
    min_score: float | None
    """Only edits are made that score above this: with "fast" a probability."""
    top: int
    """Also list that many best rewrites, as `alternatives`."""
    reader: str | Path | None
    """The folder of a reader, which has the last word on what the search editor proposes; "none" does without. By
    default the model's own, if it has one."""
    writer: str | Path | Sequence[str | Path] | None
    """The folder of a causal LM (`masker distill --student lm`), or of several, whose drafts compete with those of
    "auto": the model's critic chooses among all of them."""
    confidence: bool
    """Whether rewrites get a confidence, where the model has a critic: by default they do. It takes one pass more for
    every sentence that is changed."""
    min_confidence: float | None
    """Sentences whose rewrite a reader would accept less probably than this are left as they were."""
    below: float | None
    """Sentences stay as they are unless both style classifiers give the target domain less than this (masker check)."""
    chunk: int | None
    """How many texts are edited at a time."""
    keep_going: bool
    """A text that cannot be edited comes out as it was, with the reason as its `error`; otherwise it is raised."""
