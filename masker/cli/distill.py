"""masker distill: train a fast student on aligned pairs."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._output import choice
from masker.cli._training import claim, command, reports, say
from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.students.base import Pair, Student, StudentSettings
    from masker.training.progress import Progress


Kind = Annotated[str, typer.Option("--student", help="lasertagger, felix, bert2bert or lm.")]
Out = Annotated[
    Path, typer.Option("--out", help="Folder for the student; MODEL/student is the one of masker edit --method fast.")
]
Silver = Annotated[
    list[Path] | None, typer.Option("--silver", help="Pairs to begin with, as masker silver writes them; repeatable.")
]
Gold = Annotated[
    list[Path] | None, typer.Option("--gold", help="Pairs to fine-tune on, or to train on alone; repeatable.")
]
Dev = Annotated[
    Path | None, typer.Option("--dev", help="Pairs to measure on [default: a share of the others, held out].")
]
Base = Annotated[
    str | None,
    typer.Option("--base", help="Folder or Hugging Face id of the encoder [default: embedded]; lm: of any causal LM."),
]
Phrases = Annotated[
    int | None, typer.Option("--phrases", help="lasertagger: phrases that can be inserted [default: 500].")
]
Decoder = Annotated[str | None, typer.Option("--decoder", help="lasertagger: autoregressive or [default] feedforward.")]
Layers = Annotated[
    int | None, typer.Option("--layers", help="lasertagger: first layers of the encoder to use [default: all].")
]
Shared = Annotated[
    bool | None, typer.Option("--shared", help="lasertagger: use the embeddings of --base, in whose folder --out is.")
]
Rounds = Annotated[int | None, typer.Option("--rounds", help="lasertagger: tag a text up to so often [default: 1].")]
KeepBias = Annotated[
    float | None, typer.Option("--keep-bias", help="lasertagger: below 0 it keeps fewer words [default: 0].")
]
Beams = Annotated[
    int | None, typer.Option("--beams", help="bert2bert, lm: rewritings to go on with at every piece [default: 4, 5].")
]
Epochs = Annotated[float, typer.Option("--epochs", help="Passes over the pairs.")]
GoldEpochs = Annotated[
    float | None, typer.Option("--gold-epochs", help="Passes over the gold pairs [default: as --epochs].")
]
Steps = Annotated[int | None, typer.Option("--steps", help="Steps per stage, instead of --epochs.")]
BatchSize = Annotated[int, typer.Option("--batch-size", help="Pairs per step.")]
LearningRate = Annotated[float, typer.Option("--lr", help="Highest learning rate.")]
MaxLength = Annotated[int, typer.Option("--max-length", help="Leave out pairs of more pieces than this.")]
EvalEvery = Annotated[
    int | None, typer.Option("--eval-every", help="Steps between evaluations [default: 10 per stage].")
]
Patience = Annotated[int, typer.Option("--patience", help="Stop after so many evaluations without a gain.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same student.")]


@app.command()
def distill(
    context: typer.Context,
    student: Kind,
    out: Out,
    silver: Silver = None,
    gold: Gold = None,
    dev: Dev = None,
    base: Base = None,
    phrases: Phrases = None,
    decoder: Decoder = None,
    layers: Layers = None,
    shared: Shared = None,
    rounds: Rounds = None,
    keep_bias: KeepBias = None,
    beams: Beams = None,
    epochs: Epochs = 3.0,
    gold_epochs: GoldEpochs = None,
    steps: Steps = None,
    batch_size: BatchSize = 64,
    lr: LearningRate = 2e-4,
    max_length: MaxLength = 128,
    eval_every: EvalEvery = None,
    patience: Patience = 5,
    seed: Seed = 0,
    encoding: o.Encoding = "utf-8",
    device: o.Device = None,
) -> None:
    """Train a fast student on silver pairs, then on gold ones.

    Pairs are lines of two columns, source and target, with a tab between them, or have a header that names the two, or
    are files of DiscoFuse or WikiSplit; gz and xz too. Where a column `to` names the domain of the target, one student
    can learn several. It is run with masker edit --model, and far faster than Masker itself.
    """
    from masker.students.base import CARD, KINDS, StudentSettings, student_class
    from masker.training.settings import require

    choice("student", student, list(KINDS))
    options = _options(
        student, phrases=phrases, decoder=decoder, layers=layers, shared=shared, rounds=rounds, keep_bias=keep_bias,
        beams=beams,
    )  # fmt: skip
    if gold_epochs is not None:
        require("gold_epochs", gold_epochs, above=0)
    if not silver and not gold:
        raise MaskerError("there is nothing to learn from; give pairs with --silver, --gold or both")
    _check_folder(out, base, bool(shared))
    settings = StudentSettings(
        epochs=epochs, steps=steps, batch_size=batch_size, lr=lr, max_length=max_length, eval_every=eval_every,
        patience=patience, seed=seed, device=device,
    )  # fmt: skip
    stages = {
        name: (replace(settings, epochs=passes), read_all(paths, encoding))
        for name, paths, passes in (("silver", silver, epochs), ("gold", gold, gold_epochs or epochs))
        if paths
    }
    measured = read_all([dev], encoding) if dev is not None else None
    claim(context, out, CARD)
    everything = [pair for _, pairs in stages.values() for pair in pairs]
    taught = student_class(student).create(base, everything, settings=settings, **options)
    taught.card["command"] = command()
    if "coverage" in taught.card:
        say(f"{taught.card['phrases']} phrases cover {taught.card['coverage']:.1f} % of {len(everything):,} pairs")
    teach(taught, stages, measured, out)


def _options(student: str, **given: Any) -> dict[str, Any]:
    """Those of the kind that were given; most are a lasertagger's."""
    options = {name: value for name, value in given.items() if value is not None}
    for name in options:
        owners = ("bert2bert", "lm") if name == "beams" else ("lasertagger",)
        if student not in owners:
            raise MaskerError(f"`{name}` is for a {' or '.join(owners)}, not for {student}; drop it")
    return options


def _check_folder(out: Path, base: str | None, shared: bool) -> None:
    """A student that shares embeddings lies in the folder of the model whose they are."""
    from masker.model.folder import EMBEDDED

    folder = EMBEDDED if base is None else Path(base).expanduser()
    if shared and out.expanduser().absolute().parent != folder.absolute():
        raise MaskerError(f"a student that shares its base's embeddings lies in it: --out {folder / 'student'}")


def teach(
    student: "Student",
    stages: "dict[str, tuple[StudentSettings, list[Pair]]]",
    dev: list["Pair"] | None,
    out: Path,
) -> None:
    """One stage after the other; the student is saved after each, should the next one fail."""
    scores: dict[str, float] = {}
    for name, (settings, pairs) in stages.items():
        with reports(name, _line) as report:
            made = student.fit(pairs, settings=settings, dev=dev, report=report)
        student.card["made"][-1]["stage"], scores = name, made["scores"]
        student.save_pretrained(out)
    found = "Exact {exact:.2f}, KEEP only {keep_only:.1f} % of held-out pairs" if scores else "too few to measure"
    say(f"wrote {out}: {found.format(**scores)}")


def read_all(paths: list[Path], encoding: str = "utf-8") -> list["Pair"]:
    """The pairs of several files."""
    from masker.data.pairs import read_pairs
    from masker.students.base import Pair

    return [Pair(pair.source, pair.target, pair.to) for path in paths for pair in read_pairs(path, encoding=encoding)]


def _line(p: "Progress") -> str:
    if not (p.newest and p.best):
        return f"loss {p.loss:.3f}"
    kept = p.newest.details["keep_only"]
    return f"loss {p.loss:.3f}  Exact {p.newest.value:.1f} (best {p.best.value:.1f})  kept {kept:.1f} %"
