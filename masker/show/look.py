"""A look at corpora as a table for the terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from masker.data.inspection import DomainLook, Look, PairLook


def domain_rows(domain: "DomainLook") -> Iterator[tuple[str, str]]:
    """What is known of a corpus, by name, as it is printed."""
    copies = domain.lines - domain.distinct
    median, long, most = domain.words
    yield "lines", f"{domain.lines:,}" + (f" ({copies:,} copies)" if copies else "")
    yield "words a line", f"{median} (95 %: {long}, longest: {most})"
    yield "sentences a line", f"{domain.sentences:.1f}"
    written = " + ".join(name for name, _ in domain.scripts) or "no letters"
    yield "language", domain.language if domain.language != "?" else f"unknown, in {written}"
    yield "written in", domain.form


def pair_rows(pair: "PairLook") -> Iterator[tuple[str, str]]:
    """What tells two corpora apart, by name, as it is printed."""
    yield "a quick classifier", f"is right on {pair.accuracy:.1%} of {pair.lines:,} held-out lines (chance 50 %)"
    yield f"speak for {pair.first}", "  ".join(pair.first_words) or "no words"
    yield f"speak for {pair.second}", "  ".join(pair.second_words) or "no words"
    if pair.topic is not None:
        yield "topic", f"{pair.topic:.0%} of the difference is in what the lines are about"
    yield "lines in both", f"{pair.shared:,}"


def look_table(look: "Look") -> Any:
    """Corpora side by side, and under them what tells them apart. Warnings are for the caller to say."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    corpora = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    corpora.add_column("")
    for domain in look.domains:
        corpora.add_column(domain.name)
    for rows in zip(*map(domain_rows, look.domains), strict=True):
        corpora.add_row(rows[0][0], *(Text(value) for _, value in rows))
    pairs: list[Any] = []
    for pair in look.pairs:
        table = Table(box=None, pad_edge=False, show_header=False)
        for name, value in pair_rows(pair):
            table.add_row(Text(name, "dim"), Text(value))
        pairs += [Text(f"{pair.first} and {pair.second}", "bold"), table, Text()]
    return Group(corpora, *pairs)
