"""What `make docs` does besides mkdocs itself: it gathers pages of the whole repository, and writes the reference.

Pages keep the paths that they have in the repository, so that a link that is right there is right in the site. What
they link to besides, such as code, is copied beside them. The reference is made of docstrings and of the options of the
command line at every build, and cannot be stale.
"""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\[([^][]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")  # of Markdown, to a file: no scheme, no mere anchor
ROOMS = ("docs", "examples", "experiments", "benchmarks", "masker")
PYTHON = "docs/reference/python.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Verbs are pages below Reference."""
    reference = next(section["Reference"] for section in config.nav if "Reference" in section)
    reference += [{f"masker {verb}": f"docs/reference/{verb}.md"} for verb in verbs()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Files of the repository instead of those of docs/ alone: every page, and whatever pages link to."""
    theirs = [file for file in files if not str(file.abs_src_path).startswith(str(ROOT / "docs"))]
    linked = {path for page in pages() for path in targets(page)}
    ours = [_file(path, config) for path in sorted(pages() | linked | {"docs/site.css"})]
    texts = {PYTHON: python_page(), **{f"docs/reference/{verb}.md": page for verb, page in verb_pages().items()}}
    made = [File.generated(config, path, content=text) for path, text in texts.items()]
    for file in [*ours, *made]:  # docs/scale.md is scale.html
        file.dest_uri = file.dest_uri.removeprefix("docs/")
    return Files([*theirs, *ours, *made])


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A link to a folder is one to its page; where it has none the words stay."""
    here = (ROOT / page.file.src_uri).parent

    def resolved(match: re.Match[str]) -> str:
        if not (here / match[2]).is_dir():
            return match[0]
        home = next((name for name in ("README.md", "RESULTS.md") if (here / match[2] / name).is_file()), None)
        return f"[{match[1]}]({match[2].rstrip('/')}/{home})" if home else match[1]

    return LINK.sub(resolved, markdown)


def pages() -> set[str]:
    """All Markdown of the repository but that of build folders, runs and tests."""
    found = [*ROOT.glob("*.md"), *(path for room in ROOMS for path in (ROOT / room).rglob("*.md"))]
    return {path.relative_to(ROOT).as_posix() for path in found if ".template" not in path.name}


def targets(page: str) -> list[str]:
    """Files of the repository that a page links to."""
    here = (ROOT / page).parent
    text = (ROOT / page).read_text("utf-8")
    links = [match[2] for match in LINK.finditer(text)] + re.findall(r'<img src="([^":]+)"', text)
    found = [(here / link).resolve() for link in links]
    return [path.relative_to(ROOT).as_posix() for path in found if path.is_file() and path.is_relative_to(ROOT)]


def _file(path: str, config: MkDocsConfig) -> File:
    return File(path, str(ROOT), config.site_dir, config.use_directory_urls)


def python_page() -> str:
    """The public names, each with its docstrings."""
    masker = import_module("masker")
    homes = {name: f"masker.{masker._HOME[name]}.{name}" for name in masker.__all__ if name in masker._HOME}
    homes["MaskerError"] = "masker.errors.MaskerError"
    first = ["Masker", "Rewrite", "Edit", "Explanation"]
    names = [*first, *(name for name in masker.__all__ if name not in first)]
    title = "# Python\n\nAll of it is imported from `masker`. All else: [the plan of the house](../design.md).\n"
    return "\n".join([title, *(f"::: {homes[name]}\n" for name in names)])


def verbs() -> dict[str, Any]:
    """The commands of `masker`, by name."""
    from typer.main import get_command

    import masker.cli

    for module in iter_modules(masker.cli.__path__):  # each registers its verb
        if not module.name.startswith("_"):
            import_module(f"masker.cli.{module.name}")
    return dict(sorted(get_command(masker.cli.app).commands.items()))


def verb_pages() -> dict[str, str]:
    return {name: "\n".join(command_page(f"masker {name}", command, 1)) for name, command in verbs().items()}


def command_page(path: str, command: Any, level: int) -> list[str]:
    """A command as Markdown: what it does, how it is called, its options; then the commands below it."""
    context = command.context_class(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"{'#' * level} {path}", "", *_paragraphs(command.help), "```text", f"{path} {usage}", "```", ""]
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [_row(*record) for record in records if record]
    if rows:
        lines += ["| option | |", "|---|---|", *rows, ""]
    for name, below in getattr(command, "commands", {}).items():
        lines += command_page(f"{path} {name}", below, level + 1)
    return lines


def _paragraphs(text: str | None) -> list[str]:
    parts = re.split(r"\n\s*\n", (text or "").strip().replace("\b", ""))
    return [line for part in parts for line in (" ".join(part.split()).replace("<", "&lt;"), "")]


def _row(names: str, text: str) -> str:
    cell = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
    return f"| `{names}` | {cell} |"
