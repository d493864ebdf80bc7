"""The methods of editing, found by their names: one table. To add a method, write its `Editor` and add a row here."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from masker.baselines.base import NAMES as BASELINES
from masker.baselines.base import baseline_folder, domains_of, load_baseline
from masker.core.account import Account
from masker.core.editor import Editor
from masker.core.edits import Rewrite
from masker.core.segments import Unit
from masker.core.task import Task
from masker.errors import MaskerError, unknown
from masker.model.folder import PHRASES as BOOKS

if TYPE_CHECKING:
    from masker.api import Masker
    from masker.search.auto import AutoEditor
    from masker.search.editor import SearchEditor


@dataclass(frozen=True)
class Method:
    """A way of editing. `options` are the knobs it has, and `lacks` says what a model lacks for it, None if nothing.

    `protects` is whether it leaves numbers, links and their like alone without being told to. `account` rewrites a text
    and tells how; without one the paper's table tells all there is to tell.
    """

    options: frozenset[str]
    lacks: Callable[["Masker", Task], str | None]
    make: Callable[["Masker", Task, dict[str, Any]], Editor]
    protects: bool = True
    account: Callable[[Any, str], tuple[Rewrite, Account]] | None = None


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options without those that are the usual ones anyway."""
    return {option: value for option, value in options.items() if value is not None and (option, value) != ("top", 0)}


def choose(masker: "Masker", task: Task, name: str | None, options: Mapping[str, Any]) -> str:
    """The name of a method, checked; without one, the first that the model has all for and that has all the options."""
    chosen = given(options)
    if name is None:
        name = _usual(masker, task, chosen)
    if not isinstance(name, str) or name not in METHODS:
        raise unknown("method", name, list(METHODS))
    method = METHODS[name]
    if lacking := method.lacks(masker, task):
        raise MaskerError(lacking)
    for option in chosen:
        if option not in method.options:
            owners = " or ".join(other for other in METHODS if option in METHODS[other].options)
            raise MaskerError(f"`{option}` belongs to the method {owners}; leave it out with the method {name}")
    return name


def _usual(masker: "Masker", task: Task, given: Mapping[str, Any]) -> str:
    if task.source is None:
        return "paper"  # the ablation is the paper's
    able = [name for name in USUAL if not METHODS[name].lacks(masker, task)]
    return next((name for name in able if METHODS[name].options.issuperset(given)), able[0])


def gated(masker: "Masker", task: Task, editor: Editor, below: float) -> Editor:
    """An editor that lets be what both style classifiers do not find less probable than `below` of the target domain.

    A model without them edits as ever.
    """
    from masker.search.gate import Gated

    return (
        editor if _lacks_for_search(masker, task) else Gated(editor, _search(masker, task, {"reader": "none"}), below)
    )


def _auto(masker: "Masker", task: Task, options: dict[str, Any]) -> Editor:
    from masker.search.auto import MOODS, AutoEditor
    from masker.search.phrases import PHRASES, PhraseBook
    from masker.search.writing import draft_editors

    named = options.pop("writer", None) or ()
    folders = [named] if isinstance(named, str | Path) or not isinstance(named, Iterable) else named
    writers = [draft_editors(masker.writer(folder), task, unit_of(masker, task)) for folder in folders]
    search = _search(masker, task, options)
    if writers and not search.critic:
        raise MaskerError(
            "writers' drafts are chosen by a critic, which the model does not have; masker critic makes it"
        )
    book = _phrase_book(masker, task)
    phrases = draft_editors(PhraseBook.load(book), task, unit_of(masker, task), PHRASES) if book else []
    if _lacks_for_fast(masker, task):
        return AutoEditor(phrases[0], search, writers=writers, phrases=phrases)
    again = [_fast(masker, task, {"keep": keep}) for keep in MOODS] if search.critic else []
    return AutoEditor(_fast(masker, task, {}), search, again, writers, phrases)


def _phrase_book(masker: "Masker", task: Task) -> Path | None:
    """What may be said instead of phrases on the way to a domain, if the model's folder has a book of them."""
    path = masker.model.folder and masker.model.folder / BOOKS / f"{task.to}.txt"
    return path if path and path.is_file() and task.from_ == masker.model.counterpart(task.to) else None


def _fast(masker: "Masker", task: Task, options: dict[str, Any]) -> Editor:
    from masker.students.fast import FastEditor

    student = masker.student
    assert student
    return FastEditor(task, student, unit=unit_of(masker, task), **options)


def _paper(masker: "Masker", task: Task, options: dict[str, Any]) -> Editor:
    from masker.core.paper import Exhaustive, PaperEditor, PaperSettings, Scorer
    from masker.search.pruning import Pruned, Refereed

    exact = masker.exact(task)
    scorer: Scorer = Pruned(task, doubt=exact is not None) if masker.prune else Exhaustive(task)
    if exact is not None:
        scorer = Refereed(scorer, exact)
    runtime = task.target.runtime
    return PaperEditor(task, PaperSettings(**options), scorer, chunk=runtime.chunk, prefetch=runtime.prefetch)


def _search(masker: "Masker", task: Task, options: dict[str, Any]) -> "SearchEditor":
    from masker.model.settings import SearchSettings
    from masker.search.classifiers import StyleClassifiers
    from masker.search.editor import SearchEditor

    assert masker.model.bag_of_words
    task = masker.narrowed(task)
    assert task.from_
    top, reader = options.pop("top", 0), masker.reader(options.pop("reader", None))
    if reader:
        for name in (task.to, task.from_):
            reader.card.check_domain(name)
    classifiers = StyleClassifiers.of(task, masker.model.domains, masker.model.bag_of_words)
    return SearchEditor(
        task,
        classifiers,
        SearchSettings.of(masker.model.settings.search.get(task.to, {}), options),
        unit=unit_of(masker, task),
        top=top,
        chunk=task.target.runtime.chunk,
        exact=masker.exact(task),
        reader=reader,
        critic=masker.critic_of(task.to),
        odds=masker.model.odds(task.to, task.from_),
    )


def _baseline(name: str, masker: "Masker", task: Task, options: dict[str, Any]) -> Editor:
    assert masker.model.folder
    learnt, unit = load_baseline(name, masker.model.folder), unit_of(masker, task)
    if name == "delete-template":
        from masker.baselines.template import Template

        return Template(task, learnt, unit=unit)
    if name == "delete-retrieve":
        from masker.baselines.rewriting import DeleteRetrieve

        return DeleteRetrieve(task, learnt, unit=unit)
    from masker.baselines.infilling import MaskAndInfill

    return MaskAndInfill(name, task, learnt, unit=unit, chunk=task.target.runtime.chunk)


def unit_of(masker: "Masker", task: Task) -> Unit:
    """What is edited at a time: a sentence, unless the domains differ in how texts are cut into sentences."""
    settings, both = masker.model.settings, [name for name in (task.to, task.from_) if name]
    longest = max((settings.longest[name] for name in both if name in settings.longest), default=None)
    return Unit(sentences=settings.by_sentence(*both), longest=longest)


def _lacks_for_fast(masker: "Masker", task: Task) -> str | None:
    student = masker.student
    if student is None:
        return "the model has no student; teach it one (masker distill), or use another method"
    if task.to not in student.targets or task.from_ is None or task.from_ != masker.model.counterpart(task.to):
        ways = " or ".join(f"from {masker.model.counterpart(to)} to {to}" for to in student.targets)
        return f"the model's student writes only {ways}; use another method"
    return None


def _lacks_for_auto(masker: "Masker", task: Task) -> str | None:
    return (not _phrase_book(masker, task) and _lacks_for_fast(masker, task)) or _lacks_for_search(masker, task)


def _lacks_for_search(masker: "Masker", task: Task) -> str | None:
    if masker.model.has_style and masker.source_model is None and task.from_ is not None:
        return None
    return (
        "the search editor needs one model, fitted to both domains, with a style classifier; "
        "fit it again (masker fit), or use the method paper"
    )


def _lacks_for_baseline(name: str, masker: "Masker", task: Task) -> str | None:
    known = domains_of(baseline_folder(name, masker.model.folder))
    if not known:
        return f"the model has no {name}; fit it into the model's folder (masker fit --baseline {name}) first"
    if lacking := [domain for domain in (task.from_, task.to) if domain not in known]:
        return f"the model's {name} knows {', '.join(known)}, not {lacking[0]}; fit it again with that domain"
    return None


def _tell_auto(editor: "AutoEditor", text: str) -> tuple[Rewrite, Account]:
    from masker.search.accounts import auto_account
    from masker.search.phrases import PHRASES

    rewrite, account = auto_account(editor, text)
    if rewrite.method == PHRASES:
        return rewrite, account
    told = [_tell_fast(one, text) for one in (editor.fast, *editor.again)]  # the try that stands, else the first
    tags = next((tags for tried, tags in told if tried.text == rewrite.text), told[0][1])
    return rewrite, replace(account, rounds=tags.rounds)


def _tell_only(editor: Editor, text: str) -> tuple[Rewrite, Account]:
    """What a baseline makes of a text, of which it has nothing to tell."""
    return editor.begin([text])()[0], Account()


def _tell_fast(editor: Any, text: str) -> tuple[Rewrite, Account]:
    rewrite, account = editor.account(text)
    return rewrite, account


def _tell_search(editor: "SearchEditor", text: str) -> tuple[Rewrite, Account]:
    from masker.search.accounts import search_account

    return search_account(editor, text)


_SHARED = frozenset({"max_edits", "min_score", "top"})
METHODS = {
    "auto": Method(
        frozenset({"max_edits", "strength", "reader", "writer"}), _lacks_for_auto, _auto, account=_tell_auto
    ),
    "fast": Method(frozenset({"min_score"}), _lacks_for_fast, _fast, account=_tell_fast),
    "search": Method(_SHARED | {"strength", "reader"}, _lacks_for_search, _search, account=_tell_search),
    "paper": Method(_SHARED, lambda masker, task: None, _paper, protects=False),
    **{
        name: Method(
            frozenset(),
            partial(_lacks_for_baseline, name),
            partial(_baseline, name),
            protects=False,
            account=_tell_only,
        )
        for name in BASELINES
    },
}
USUAL = ("auto", "search", "paper")  # what is taken by default, if it can do what is asked
