"""Split the comments into those the editor may learn from and the quarter kept for the style judges, as reviews are.

    python experiments/detox/split.py DATA OUT

writes OUT/{toxic,civil}.{editor,judge}.txt from DATA/detox/train.{toxic,civil}.txt.gz, without what dev and test have,
too: one line.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from masker.data.corpora import is_judge_line, read_corpus
from masker.errors import MaskerError

DOMAINS = ("toxic", "civil")
HELD = ("dev.toxic", "dev.civil", "test.toxic")


def split(data: Path, out: Path) -> dict[str, int]:
    """Write the four files and return their line counts by name."""
    detox = data / "detox"
    held = {" ".join(line.split()) for part in HELD for line in read_corpus(detox / f"{part}.txt.gz")}
    counts = {}
    out.mkdir(parents=True, exist_ok=True)
    for domain in DOMAINS:
        lines = [line for line in read_corpus(detox / f"train.{domain}.txt.gz") if " ".join(line.split()) not in held]
        for use in ("editor", "judge"):
            chosen = [line for line in lines if is_judge_line(line) == (use == "judge")]
            (out / f"{domain}.{use}.txt").write_text("".join(f"{line}\n" for line in chosen), "utf-8")
            counts[f"{domain}.{use}.txt"] = len(chosen)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0, or 2 after one line about what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder that holds detox/")
    parser.add_argument("out", type=Path, help="folder to write to")
    options = parser.parse_args(arguments)
    try:
        for name, count in split(options.data, options.out).items():
            print(f"{name}\t{count}", file=sys.stderr)
    except (MaskerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
