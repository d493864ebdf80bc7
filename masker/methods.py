"""The methods of editing, found by their names: one table. To add a method, write its `Editor` and add a row here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from masker.core.editor import Editor
from masker.core.task import Task
from masker.errors import MaskerError, unknown

if TYPE_CHECKING:
    from masker.api import Masker


@dataclass(frozen=True)
class Method:
    """A way of editing. `options` are the knobs it has, and `lacks` says what a model lacks for it, None if nothing."""

    options: frozenset[str]
    lacks: Callable[["Masker", Task], str | None]
    make: Callable[["Masker", Task, dict[str, Any]], Editor]


def choose(masker: "Masker", task: Task, name: str | None, options: Mapping[str, Any]) -> Editor:
    """The editor of a method, or of the first that the model has all for; options that are None are the usual ones."""
    if name is None:
        able = [known for known, method in METHODS.items() if not method.lacks(masker, task)]
        name = next(
            known for known in able if known == "paper" or task.source is not None
        )  # the ablation is the paper's
    if name not in METHODS:
        raise unknown("method", name, list(METHODS))
    method = METHODS[name]
    if lacking := method.lacks(masker, task):
        raise MaskerError(lacking)
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in method.options:
            owners = " or ".join(other for other in METHODS if option in METHODS[other].options)
            raise MaskerError(f"`{option}` belongs to the method {owners}; leave it out with the method {name}")
    return method.make(masker, task, given)


def _paper(masker: "Masker", task: Task, options: dict[str, Any]) -> Editor:
    from masker.core.paper import Exhaustive, PaperEditor, PaperSettings, Scorer
    from masker.search.pruning import Pruned, Refereed

    exact = masker.exact(task)
    scorer: Scorer = Pruned(task, doubt=exact is not None) if masker.prune else Exhaustive(task)
    if exact is not None:
        scorer = Refereed(scorer, exact)
    runtime = task.target.runtime
    return PaperEditor(task, PaperSettings(**options), scorer, chunk=runtime.chunk, prefetch=runtime.prefetch)


def _search(masker: "Masker", task: Task, options: dict[str, Any]) -> Editor:
    from masker.model.settings import SearchSettings
    from masker.search.classifiers import StyleClassifiers
    from masker.search.editor import SearchEditor

    assert masker.model.bag_of_words
    assert task.from_
    top = options.pop("top", 0)
    classifiers = StyleClassifiers.of(task, masker.model.domains, masker.model.bag_of_words)
    longest = masker.model.settings.longest
    return SearchEditor(
        task,
        classifiers,
        SearchSettings.of(masker.model.settings.search.get(task.to, {}), options),
        longest=max((longest[name] for name in (task.to, task.from_) if name in longest), default=None),
        top=top,
        chunk=task.target.runtime.chunk,
        exact=masker.exact(task),
    )


def _lacks_for_search(masker: "Masker", task: Task) -> str | None:
    if masker.model.has_style and masker.source_model is None and task.from_ is not None:
        return None
    return (
        "the search editor needs one model, fitted to both domains, with a style classifier; "
        "fit it again (masker fit), or use the method paper"
    )


_SHARED = frozenset({"max_edits", "min_score", "top"})
METHODS = {
    "search": Method(_SHARED | {"strength"}, _lacks_for_search, _search),
    "paper": Method(_SHARED, lambda masker, task: None, _paper),
}
