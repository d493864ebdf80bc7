"""Divide the fusion corpus's training rows: text to fit Masker with, texts to write silver pairs for, gold pairs.

    python experiments/fusion/prepare.py DATA OUT

reads DATA/fusion/train.tsv.xz, or train_balanced.tsv of DATA, a folder of DiscoFuse's release (or a file of that format
given instead of DATA), and writes to OUT

    fit.split.txt, fit.fused.txt    unaligned: no row gives a line to both
    silver.fused.txt                fused texts that are in no other part
    gold.450.tsv ... gold.45000.tsv aligned pairs; each file begins with the smaller one

Rows that share a sentence stay together, so that no sentence is in two parts; rows that share one with
dev and test of DATA are left out.
"""

import argparse
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from masker.data.formats.discofuse import split_file
from masker.data.pairs import AlignedPair, read_pairs
from masker.errors import MaskerError

SEED = 0
SILVER = 46_000
GOLD = (450, 4_500, 45_000)


def prepare(
    train: Path, out: Path, *, held: Sequence[Path] = (), silver: int = SILVER, gold: Sequence[int] = GOLD
) -> dict[str, int]:
    """Write all the parts and return their line counts by name. `held` are the files that nothing may be learnt of."""
    away = [pair for path in held for pair in read_pairs(path)]
    parts = divide(list(read_pairs(train)), away, silver=silver, gold=max(gold))
    out.mkdir(parents=True, exist_ok=True)
    counts = {}

    def write(name: str, lines: Iterable[str], header: str = "") -> None:
        rows = list(lines)
        text = header + "".join(f"{row}\n" for row in rows)
        (out / name).write_text(text, "utf-8", newline="\n")
        counts[name] = len(rows)

    write("fit.split.txt", (pair.source for pair in parts["split"]))
    write("fit.fused.txt", (pair.target for pair in parts["fused"]))
    write("silver.fused.txt", (pair.target for pair in parts["silver"]))
    for size in gold:
        rows = ("\t".join(pair[:3]) for pair in parts["gold"][:size])
        write(f"gold.{size}.tsv", rows, "source\ttarget\ttype\n")
    return counts


def divide(
    pairs: Sequence[AlignedPair], away: Sequence[AlignedPair] = (), *, silver: int, gold: int
) -> dict[str, list[AlignedPair]]:
    """Disjoint parts in random order: `gold`, `silver`, and what is left in two halves, `split` and `fused`."""
    groups = [group for group in together([*pairs, *away]) if group[-1] < len(pairs)]
    random.Random(SEED).shuffle(groups)
    rest = max(sum(map(len, groups)) - gold - silver, 0)
    room = {"gold": gold, "silver": silver, "split": rest - rest // 2, "fused": rest // 2}
    parts: dict[str, list[AlignedPair]] = {name: [] for name in room}
    for group in groups:
        name = next((name for name in room if room[name] >= len(group)), "fused")  # the last part takes what is over
        room[name] -= len(group)
        parts[name] += [pairs[index] for index in group]
    if len(parts["gold"]) < gold or len(parts["silver"]) < silver or not parts["split"] or not parts["fused"]:
        raise MaskerError(f"{len(pairs):,} rows are too few for {gold:,} gold and {silver:,} silver ones and the rest")
    return parts


def together(pairs: Sequence[AlignedPair]) -> list[list[int]]:
    """The rows in groups: rows of different groups share no sentence."""
    leader = list(range(len(pairs)))

    def find(index: int) -> int:
        while leader[index] != index:
            leader[index] = leader[leader[index]]
            index = leader[index]
        return index

    seen: dict[str, int] = {}
    for index, pair in enumerate(pairs):
        for sentence in {part.strip() for side in pair[:2] for part in side.split(" . ")}:
            other = find(seen.setdefault(sentence.removesuffix(" ."), index))
            leader[find(index)] = other
    groups: dict[int, list[int]] = {}
    for index in range(len(pairs)):
        groups.setdefault(find(index), []).append(index)
    return list(groups.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0, or 2 after one line about what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder that holds fusion/ or DiscoFuse, or a training file of it")
    parser.add_argument("out", type=Path, help="folder to write to")
    parser.add_argument("--silver", type=int, default=SILVER, help="fused texts to write silver pairs for")
    parser.add_argument("--gold", type=int, nargs="+", default=GOLD, help="sizes of the gold parts")
    options = parser.parse_args(arguments)
    try:
        train = split_file(options.data, "train")
        held = [split_file(options.data, name) for name in ("dev", "test") if options.data.is_dir()]
        counts = prepare(train, options.out, held=held, silver=options.silver, gold=options.gold)
    except (MaskerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name, count in counts.items():
        print(f"{name}\t{count}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
