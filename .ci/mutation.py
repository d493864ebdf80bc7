"""How many small faults in `masker/core` its own tests notice: a sample of the mutants that mutmut can make.

For example: python .ci/mutation.py --sample 400 --floor 85. With --sample 0 all mutants are tried, which takes hours.
A mutant is killed when a test of tests/core fails or does not end; one that no test runs counts as a survivor. The diff
of each survivor is printed. The sample follows from the seed and the names of the mutants.
"""

import argparse
import os
import random
import shutil
import sys
from collections import Counter

os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")  # mutants are forked from one warm process

import mutmut.__main__ as mutmut
import pytest
from mutmut.mutation.data import SourceFileMutationData

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--sample", type=int, default=400)
options.add_argument("--seed", type=int, default=0)
options.add_argument("--floor", type=float, default=85)
options.add_argument("--children", type=int, default=1)
options.add_argument("--again", action="store_true", help="ask again only about the survivors of the run before")
chosen = options.parse_args()

collect = mutmut.collect_source_file_mutation_data
Mutants = list[tuple[SourceFileMutationData, str, int | None]]
sample: Mutants = []


def sampled(*, mutant_names: tuple[str, ...]) -> tuple[Mutants, dict[str, SourceFileMutationData]]:
    """Some of the mutants, from all modules alike, in place of all of them."""
    mutants, files = collect(mutant_names=mutant_names)
    mutants.sort(key=lambda mutant: mutant[1])
    if chosen.sample:
        mutants = random.Random(chosen.seed).sample(mutants, min(chosen.sample, len(mutants)))
    sample[:] = mutants
    return [(file, name, None if was == 0 else was) for file, name, was in mutants], files


if not hasattr(pytest.Item, "_nodeid"):  # gone in pytest 9.2, and mutmut 3.8 asks for it
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined]
mutmut.collect_source_file_mutation_data = sampled
if not chosen.again:
    shutil.rmtree("mutants", ignore_errors=True)
mutmut._run((), chosen.children)

verdicts = {name: mutmut.status_by_exit_code[file.exit_code_by_key[name]] for file, name, _ in sample}
counts = Counter(verdicts.values())
killed = counts["killed"] + counts["timeout"] + counts["segfault"]
for name, verdict in sorted(verdicts.items()):
    if verdict in ("survived", "no tests"):
        mutmut.show.callback(name)
score = 100 * killed / len(verdicts)
print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
print(f"mutation score of masker/core: {score:.1f} % of {len(verdicts)} mutants (seed {chosen.seed})")
if score < chosen.floor:
    sys.exit(f"at least {chosen.floor:g} % of the mutants must be noticed")
