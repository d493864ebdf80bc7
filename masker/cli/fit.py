"""masker fit and masker pretrain."""

import inspect
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masker.cli import _options as o
from masker.cli import app
from masker.cli._baseline import Baseline, add_baselines
from masker.cli._output import MAIN
from masker.cli._reporting import look_first, say_plan
from masker.cli._reporting import report as write_report
from masker.cli._student import SILVER, add_student, export
from masker.cli._training import claim, command, reports, say
from masker.cli.reader import fit_reader
from masker.errors import MaskerError
from masker.model.claim import check_begun, is_begun
from masker.model.folder import BASELINES, READER, STUDENT
from masker.model.folder import SETTINGS as SETTINGS_FILE

if TYPE_CHECKING:
    from masker.training.progress import Progress, Report

Epochs = Annotated[
    float | None, typer.Option("--epochs", help="Passes over the texts [default: 3, or up to 10 where they are few].")
]
SETTINGS = ("epochs", "steps", "batch_size", "accumulate", "lr", "dropout", "reveal", "style", "keep_embeddings",
            "eval_every", "patience", "seed", "precision", "compile", "workers")  # fmt: skip


def _shared(
    base: Annotated[
        str | None, typer.Option("--base", help="Folder or Hugging Face id to start from [default: embedded].")
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", help="Start from scratch instead: tiny, mini, small or base.")
    ] = None,
    vocabulary: Annotated[
        int | None,
        typer.Option(
            "--vocabulary",
            help="Pieces to learn from the texts [default: 0, the base's; 16,000 for texts that "
            "the embedded vocabulary spells badly].",
        ),
    ] = None,
    n_p: Annotated[int | None, typer.Option("--n-p", help="Masks per span [default: the base model's, 4].")] = None,
    window: Annotated[
        int | None, typer.Option("--window", help="Longest text in pieces [default: the base model's].")
    ] = None,
    epochs: Epochs = None,
    steps: Annotated[
        int | None, typer.Option("--steps", help="Steps, instead of --epochs [default on a CPU: 5,000 at most].")
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option("--batch-size", help="Examples per step, over all processes [default: 32 to 64, more on a GPU]."),
    ] = None,
    accumulate: Annotated[int, typer.Option("--accumulate", help="Compute a step's batch in so many parts.")] = 1,
    lr: Annotated[
        float | None, typer.Option("--lr", help="Highest learning rate [default: 2e-4, more for larger batches].")
    ] = None,
    dropout: Annotated[float, typer.Option("--dropout", help="Share of activations dropped in training.")] = 0.1,
    reveal: Annotated[float, typer.Option("--reveal", help="Share of spans with their first pieces shown.")] = 0.4,
    eval_every: Annotated[
        int | None, typer.Option("--eval-every", help="Steps between evaluations [default: 10 per run].")
    ] = None,
    patience: Annotated[
        int | None, typer.Option("--patience", help="Stop after so many evaluations without a gain [default: 5].")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same model.")] = 0,
    precision: Annotated[str, typer.Option("--precision", help="auto (bf16 on a GPU), fp32, bf16 or fp16.")] = "auto",
    compile: Annotated[
        bool, typer.Option("--compile", help="Compile the step: pays in long runs over texts that fill the window.")
    ] = False,
    workers: Annotated[int, typer.Option("--workers", help="Processes that tokenise the corpora.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the last checkpoint in --out.")] = False,
) -> None:
    """The options that fit and pretrain share; `_with_shared` adds them to a verb's own."""


def _with_shared(verb: Callable[..., None]) -> Callable[..., None]:
    own = {n: p for n, p in inspect.signature(verb).parameters.items() if p.kind is not p.VAR_KEYWORD}
    shared = {n: p for n, p in inspect.signature(_shared).parameters.items() if n not in own}
    verb.__signature__ = inspect.Signature([*own.values(), *shared.values()])  # type: ignore[attr-defined]
    verb.__annotations__ = {**_shared.__annotations__, **verb.__annotations__}
    return verb


@app.command()
@_with_shared
def fit(
    context: typer.Context,
    domain: Annotated[list[str], typer.Option("--domain", metavar="NAME=FILE", help="A domain and its texts; repeat.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the model.")],
    counterpart: Annotated[
        list[str] | None, typer.Option("--counterpart", metavar="NAME=NAME", help="A domain's default source domain.")
    ] = None,
    domain_as: Annotated[
        str, typer.Option("--domain-as", help="token before the text, or embedding added to every piece.")
    ] = "token",
    style: Annotated[
        float, typer.Option("--style", help="Weight of the style classifier, for the search editor; 0: do without.")
    ] = 0.3,
    keep_embeddings: Annotated[
        bool, typer.Option("--keep-embeddings", help="Leave the embeddings as they are; a student shares them.")
    ] = False,
    column: o.Column = None,
    encoding: o.Encoding = "utf-8",
    licence: Annotated[
        list[str] | None, typer.Option("--licence", metavar="NAME=TEXT", help="Licence of a domain's texts.")
    ] = None,
    reader: Annotated[
        str | None,
        typer.Option(
            "--reader",
            metavar="BASE",
            help="Also fit this causal LM, a folder or Hugging Face id, to read the search editor's drafts.",
        ),
    ] = None,
    student: Annotated[
        bool, typer.Option("--student", help="Go on to a fast student of the model, for masker edit --method auto.")
    ] = False,
    baseline: Baseline = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Train on all lines; measure nothing and write no report.html.")
    ] = False,
    **shared: Any,
) -> None:
    """Fit a model to domains given as plain texts, and measure it.

    No aligned pairs are needed. Texts are lines, JSONL, CSV or TSV, or gz or xz of these. The corpora are looked at
    first; at the end lines that were set aside are rewritten, up to 100 of each domain, and judged: OUT/report.html.
    """
    from masker.data.corpora import load_domains, set_aside, use_all

    shared |= {"style": style, "keep_embeddings": keep_embeddings}
    settings, chosen = _settings(shared)
    counterparts, licences = o.pairs(counterpart, "--counterpart"), o.pairs(licence, "--licence")
    corpora = load_domains(o.pairs(domain, "--domain"), column=column, encoding=encoding)
    if baseline:
        return add_baselines(baseline, corpora, out, shared["base"], seed=settings.seed)
    if student and (not style or len(corpora) < 2):
        raise MaskerError("--student needs two domains or more, and the style classifier; leave out --style 0")
    claim(context, out, SETTINGS_FILE)
    check_begun(out, resume=shared["resume"])
    parts = use_all(corpora) if no_report else set_aside(corpora, seed=settings.seed)
    settings = _suited(settings, chosen, parts.train)
    finished = shared["resume"] and _is_finished(out)
    seconds = 0.0 if finished else _seconds(settings, parts.train, counterparts, licences, out, shared)
    look = look_first(corpora, counterparts) if MAIN else None
    from masker.training import fit as training

    if not finished:
        say_plan(settings, parts, seconds, report=not no_report)
        with _reports(out) as report:
            model = training.fit(
                parts.train, out, counterparts=counterparts, domain_as=domain_as, licences=licences,
                settings=settings, command=command(), report=report, **shared,
            )  # fmt: skip
        _say(model, out)
    if look is None:
        return  # one process goes on
    if not finished:
        _forget(out)
    if parts.aside or student:
        export(out)  # what rewrites many lines now does it sooner, and whoever uses the model on a CPU
    if student:
        add_student(out, parts.train, command=command(), resume=finished)
    if reader:
        from masker.training.reader import ReaderSettings

        fit_reader(parts.train, reader, out / READER, ReaderSettings(seed=settings.seed), {"seed"})
    if parts.aside:
        write_report(out, look, parts)


def _is_finished(out: Path) -> bool:
    """Whether the same command has made the model already: what is left to do is the student, or the report."""
    from masker.model.folder import has_settings, read_settings

    if not has_settings(out) or is_begun(out):
        return False
    made, typed = read_settings(out / SETTINGS_FILE).made, command()
    return bool(made) and _begun(str(made[-1].get("command") or "")) == _begun(typed)


def _begun(typed: str) -> str:
    """A command as it was when the run began."""
    return typed.replace(" --resume", "")


def _forget(out: Path) -> None:
    """Remove what an earlier model in this folder has left: its student would write what this one does not know."""
    for name in (STUDENT, SILVER, READER, BASELINES):
        shutil.rmtree(out / name, ignore_errors=True)
    (out / "report.html").unlink(missing_ok=True)


@app.command()
@_with_shared
def pretrain(
    corpus: Annotated[list[Path], typer.Argument(help="Plain texts, one per line; JSONL, CSV; gz or xz of these.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the model.")],
    column: o.Column = None,
    encoding: o.Encoding = "utf-8",
    licence: Annotated[str, typer.Option("--licence", help="Licence of the corpora.")] = "not stated",
    epochs: Annotated[float, typer.Option("--epochs", help="Passes over the texts.")] = 1.0,
    **shared: Any,
) -> None:
    """Train a model on plain text, as a base for fit."""
    from masker.data.corpora import read_corpus

    shared["epochs"] = epochs
    settings, chosen = _settings(shared)
    corpora: dict[str, list[str]] = {}
    for path in corpus:
        if str(path) in corpora:
            raise MaskerError(f"{path} is given twice; name each corpus once")
        corpora[str(path)] = list(read_corpus(path, column=column, encoding=encoding))
    from masker.runtime import gpus
    from masker.training import fit as training
    from masker.training.suited import for_device

    with _reports(out) as report:
        model = training.pretrain(
            corpora, out, licences=dict.fromkeys(corpora, licence), command=command(), report=report,
            settings=for_device(settings, sum(map(len, corpora.values())), chosen=chosen, gpu=bool(gpus())), **shared,
        )  # fmt: skip
    _say(model, out)


def _settings(shared: dict[str, Any]) -> tuple[Any, set[str]]:
    """Take the options that are training settings out of `shared`; gives the names of those that were set, too."""
    from masker.training.settings import TrainSettings

    options = {name: shared.pop(name) for name in SETTINGS if name in shared}
    given = {name: value for name, value in options.items() if value is not None}
    return TrainSettings(**given), {*given}


def _suited(settings: Any, chosen: set[str], corpora: Mapping[str, Sequence[str]]) -> Any:
    """Settings with what was not chosen, as it suits the device and the number of texts."""
    from masker.runtime import gpus
    from masker.training.suited import suited

    sizes = [len(lines) for lines in corpora.values()]
    return suited(settings, sum(sizes), smallest=min(sizes, default=0), chosen=chosen, gpu=bool(gpus()))


def _seconds(
    settings: Any,
    corpora: Mapping[str, Sequence[str]],
    counterparts: Mapping[str, str],
    licences: Mapping[str, str],
    out: Path,
    shared: Mapping[str, Any],
) -> float:
    """About how long the training will take. What would stop it shows here, before anything is said."""
    from masker.training.checkpoint import newest
    from masker.training.fit import rehearse
    from masker.training.pace import seconds_for

    options = {name: shared[name] for name in ("base", "size", "n_p", "window")}
    model = rehearse(corpora, counterparts, licences, **options, seed=settings.seed)
    if shared["resume"]:
        newest(out)
    lines = [line for texts in corpora.values() for line in texts[:: max(1, len(texts) // 500)]]
    pieces = sum(len(model.vocabulary.read(line).pieces) for line in lines) / max(1, len(lines))
    return seconds_for(model, settings, sum(map(len, corpora.values())), pieces)


def _say(model: Any, out: Path) -> None:
    made = model.settings.made[-1]
    early = "" if made["steps"] == made["best_step"] else f", best checkpoint at step {made['best_step']}"
    accuracy = made["scores"]["span_accuracy"]
    say(f"wrote {out}: span accuracy {accuracy:.2f} after {made['steps']} steps{early}, {made['seconds']} s")


@contextmanager
def _reports(out: Path) -> Iterator["Report"]:
    """A progress bar; a run that is interrupted says how it goes on."""
    try:
        with reports("step", _line) as report:
            yield report
    except KeyboardInterrupt:
        if is_begun(out):
            raise MaskerError(
                f"interrupted; the run so far is in {out}: the same command with --resume goes on"
            ) from None
        raise


def _line(p: "Progress") -> str:
    accuracy = f"  span acc. {p.newest.value:.1f} (best {p.best.value:.1f})" if p.newest and p.best else ""
    return f"loss {p.loss:.3f}{accuracy}  {p.tokens_per_second:,.0f} tokens/s"
