"""Beam's options, checked, and its many ways to fail as one line."""

import argparse
import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from apache_beam.options.pipeline_options import PipelineOptions

from masker.errors import MaskerError, unknown

# the options of a runner that is asked over the network are known there alone
REMOTE = ("PortableRunner", "FlinkRunner", "SparkRunner", "PrismRunner")
_SAID = re.compile(r"masker\.errors\.MaskerError: (.+)|\bMaskerError: (.+)")


def check_options(options: Sequence[str], own: Sequence[str] = ()) -> None:
    """Beam drops what it does not know: a misspelt option, of its own or of ours (`own`), is an error here."""
    parser = argparse.ArgumentParser(add_help=False, conflict_handler="resolve", allow_abbrev=False)
    for kind in PipelineOptions.__subclasses__():
        if "_add_argparse_args" in vars(kind):
            kind._add_argparse_args(parser)  # type: ignore[arg-type]
    known = [flag for action in parser._actions for flag in action.option_strings]
    names = [word.partition("=")[0] for word in options]
    remote = any(runner in word for word in options for runner in REMOTE)
    for name in names:
        if name.startswith("--") and name not in known:
            error = unknown("option", name, own)
            if not remote or "did you mean" in str(error):
                raise MaskerError(str(error) if "did you mean" in str(error) else _unknown(name, known))
    if wrong := next((word for word in options[:1] if not word.startswith("-")), None):
        raise MaskerError(f"'{wrong}' is no option; name files with --input")


def _unknown(name: str, known: Sequence[str]) -> str:
    meant = str(unknown("option", name, known)).partition("; did you mean ")[2]
    return f"neither Masker nor Beam knows the option {name}" + (f"; did you mean {meant}" if meant else "; drop it")


@contextmanager
def one_line_of_beam() -> Iterator[None]:
    """What goes wrong in a pipeline, of which Beam tells in a hundred lines, as the one that matters."""
    try:
        yield
    except Exception as error:
        text = str(error)
        if isinstance(error, MaskerError):
            raise MaskerError(_plain(text)) from error
        if "KeyboardInterrupt" in text.rstrip().rpartition("\n")[2]:
            raise KeyboardInterrupt from None
        if said := _SAID.findall(text):
            first, second = said[-1]
            raise MaskerError(f"{_plain(first or second)}; what is done is kept: go on with `resume`") from error
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        line = f"{type(error).__name__}: {lines[-1] if lines else ''}"
        raise MaskerError(f"the pipeline failed ({line[:300]}); mend that, and go on with `resume`") from error


def _plain(said: str) -> str:
    """A message without what Beam writes after it: [while running 'ParDo(_Read)']."""
    return re.sub(r"\s*(\[while running .*|\\n.*)$", "", said).rstrip("'\"; ")


@contextmanager
def quiet(options: Sequence[str] = ()) -> Iterator[None]:
    """Without remarks of libraries that nobody can act on. A failure on this machine is told by what is raised."""
    here = not any(word.startswith("--runner") for word in options) or any("Direct" in word for word in options)
    loggers = [logging.getLogger(name) for name in (None, "apache_beam", "google", "grpc", "transformers")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL if here else logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
