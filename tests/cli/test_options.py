from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from masker.cli import _options, _verb, app
from masker.cli._options import as_flags
from masker.errors import MaskerError


@pytest.fixture(autouse=True)
def verbs(masker: Callable[..., Any]) -> None:
    """Any run of the command line registers them."""
    masker("--help")


def command(*names: str) -> Any:
    found: Any = get_command(app)
    for name in names:
        found = found.commands[name]
    return found


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("raise `max_words`", "raise --max-words"),
        ("use `method` paper, or leave `strength` out", "use --method paper, or leave --strength out"),
        ("choose one with `from_`", "choose one with --from"),
        ("needs `source_score`", "needs --no-source-score"),
        ("`window` is 3 and `n_p` 4", "window is 3 and n_p 4"),  # no options of this verb
        ("max_words without quotes", "max_words without quotes"),
        ("'`rm -rf`' is no pattern, nor is `", "'`rm -rf`' is no pattern, nor is `"),
        ("[bold] `file`", "[bold] file"),  # an argument, not an option
    ],
)
def test_parameters_are_told_as_options_of_the_verb(message: str, said: str) -> None:
    assert as_flags(message, command("edit")) == said


def test_a_file_to_write_has_another_name_in_explain() -> None:
    assert as_flags("choose another `out`", command("explain")) == "choose another --plot"


def test_every_other_name_is_that_of_an_option() -> None:
    def names(command: Any) -> set[str]:
        inner = getattr(command, "commands", {}).values()
        return {parameter.name for parameter in command.params}.union(*map(names, inner))

    assert set(_options._OTHERWISE.values()) <= names(command())


def test_the_verb_is_found_among_the_arguments() -> None:
    assert _verb(["edit", "--to", "fit"]).name == "edit"
    assert _verb(["judge", "fit", "--domain", "lm"]) is not _verb(["fit"])
    assert _verb(["judge", "fit"]).callback.__module__ == "masker.cli.judge"
    assert _verb(["--help"]).name == "masker"


def test_an_error_of_the_library_names_flags_on_the_command_line(
    fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MaskerError("`max_words` is too small for a `window` of 4; see `model`")

    monkeypatch.setattr("masker.api.Masker.from_pretrained", refuse)
    assert fails("explain", "x", "--to", "y") == "--max-words is too small for a window of 4; see --model"


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("Allocator: can't allocate memory: 9 bytes")])
def test_too_little_memory_is_no_bug(
    fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("masker.api.Masker.from_pretrained", refuse)
    assert fails("explain", "x", "--to", "y").startswith("out of memory; ")


@pytest.mark.parametrize(
    "words",
    [
        ("edit", "--to", "positive", "--out", ""), ("edit", "--to", "positive", "--out="), ("page", "--out", ""),
        ("serve", "--host", ""), ("info", "--model", ""), ("explain", "x", "--to", "y", "--html", ""),
        ("serve", "--token", ""), ("serve", "--token="),
    ],
)  # fmt: skip
def test_a_place_without_a_name_is_refused(fails: Callable[..., str], words: tuple[str, ...]) -> None:
    """As `--out "$OUT"` is where nothing was said: neither this folder nor, for a host, all of the network is meant."""
    flag = next(word.rstrip("=") for word in reversed(words) if word.startswith("--"))
    what = "which" if flag == "--token" else "where"
    assert fails(*words) == f"{flag} is empty; say {what}, or leave it out"
