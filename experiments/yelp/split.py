"""Split the Yelp training lines into those the editor may learn from and the quarter kept for the style judges.

    python experiments/yelp/split.py DATA OUT

writes OUT/{negative,positive}.{editor,judge}.txt from DATA/yelp/sentiment.train.{0,1}.gz.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from masker.data.corpora import is_judge_line, read_corpus
from masker.errors import MaskerError

DOMAINS = ("negative", "positive")  # in the order of the files' numbers, 0 and 1


def split(data: Path, out: Path) -> dict[str, int]:
    """Write the four files, all or none, and return their line counts by name."""
    yelp = data / "yelp"
    evaluation = {
        _key(line): f"sentiment.{part}.{number}"
        for part in ("dev", "test")
        for number in range(len(DOMAINS))
        for line in read_corpus(yelp / f"sentiment.{part}.{number}")
    }
    files: dict[str, list[str]] = {f"{domain}.{use}.txt": [] for domain in DOMAINS for use in ("editor", "judge")}
    for number, domain in enumerate(DOMAINS):
        train = yelp / f"sentiment.train.{number}.gz"
        for line in read_corpus(train):
            if _key(line) in evaluation:
                raise MaskerError(
                    f"{train} holds a line of {evaluation[_key(line)]}: '{line.strip()}'; remove it and split again"
                )
            files[f"{domain}.{'judge' if is_judge_line(line) else 'editor'}.txt"].append(line)
    _write(out, files)
    return {name: len(lines) for name, lines in files.items()}


def _key(line: str) -> str:
    """Case and spacing do not make a leaked line a new one."""
    return " ".join(line.lower().split())


def _write(out: Path, files: dict[str, list[str]]) -> None:
    parts = {out / f"{name}.part": out / name for name in files}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for part, lines in zip(parts, files.values(), strict=True):
            part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
        for part, whole in parts.items():
            os.replace(part, whole)
    except OSError as error:
        raise MaskerError(f"cannot write to {out}: {error.strerror}; choose another folder or make room") from error
    finally:
        if out.is_dir():
            for part in parts:
                part.unlink(missing_ok=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0, or 2 after one line about what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder that holds yelp/")
    parser.add_argument("out", type=Path, help="folder to write to")
    options = parser.parse_args(arguments)
    try:
        counts = split(options.data, options.out)
    except MaskerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name, count in counts.items():
        print(f"{name}\t{count}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
