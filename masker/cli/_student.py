"""masker fit --student: silver pairs of the training lines, a student that learns from them, and its graphs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from masker.cli._training import say
from masker.cli.distill import read_all, teach
from masker.cli.silver import print_counts, write_pairs

SILVER = "silver"  # the folder of pairs, inside of the model's
MOST_ON_CPU = 5000  # lines of a domain that are rewritten where there is no GPU: half an hour on two cores
LAYERS = 4  # of the encoder, as the student in the package has


def add_student(folder: Path, lines: Mapping[str, Sequence[str]], *, command: str, resume: bool) -> None:
    """Give the model in `folder` a student that writes all of its domains; go on where that stopped, to `resume`."""
    from masker.evaluation.heldout import ways
    from masker.model.folder import STUDENT, read_config
    from masker.model.light import LightModel
    from masker.students.base import StudentSettings, student_class

    (folder / SILVER).mkdir(exist_ok=True)
    judge = _judge(folder / SILVER / "judge", lines)
    model = LightModel.read(folder)
    pairs = [_silver(folder, judge, from_, to, lines[from_], resume=resume) for from_, to in ways(model)]
    base, student, known = str(folder), folder / STUDENT, read_all(pairs)
    settings = StudentSettings(epochs=8)
    layers = min(LAYERS, int(read_config(folder).get("num_hidden_layers", LAYERS)))
    taught = student_class("lasertagger").create(base, known, settings=settings, layers=layers, shared=True)
    taught.card["command"] = command
    teach(taught, {"silver": (settings, known)}, None, student)
    export(student)


def export(folder: Path) -> None:
    """Write the graphs of a model or student, if what that takes is installed."""
    from masker.cli.export import write_graphs
    from masker.errors import MaskerError

    try:
        write_graphs(str(folder), None)
    except (ModuleNotFoundError, MaskerError) as error:
        why = "install 'masker-nlp[onnx]'" if isinstance(error, ModuleNotFoundError) else str(error)
        say(f"masker: {folder} stays as it is, without graphs for ONNX Runtime: {why}")


def _judge(folder: Path, lines: Mapping[str, Sequence[str]]) -> str:
    """A judge of the training lines, for pairs to be chosen by: it measures nothing."""
    from masker.evaluation.judges.base import Judge

    Judge.fit(lines).save_pretrained(folder)
    return str(folder)


def _silver(folder: Path, judge: str, from_: str, to: str, lines: Sequence[str], *, resume: bool) -> Path:
    """Pairs of the training lines of one domain; gives their file."""
    from masker.runtime import gpus
    from masker.scale.silver import SilverSettings

    taken = list(dict.fromkeys(line.strip() for line in lines))
    if not gpus():
        taken = taken[:MOST_ON_CPU]
    corpus, out = folder / SILVER / f"{from_}.txt", folder / SILVER / f"{to}.tsv"
    corpus.write_text("".join(f"{' '.join(line.split())}\n" for line in taken), "utf-8")
    made_by = {"model": str(folder), "source_model": None, "judge": judge, "max_words": 2000}
    settings = SilverSettings(to, from_, "target", options={"method": "search"}, made_by=made_by)
    say(f"rewriting {len(taken):,} lines from {from_} to {to}, for the student to learn from")
    print_counts(write_pairs(settings, corpus, out, resume, "utf-8", None), out)
    return out
