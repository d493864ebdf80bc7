"""What a page can offer: pairs of domains, and the methods that can be used between them."""

from itertools import permutations
from typing import Any

from masker.api import Masker
from masker.methods import METHODS
from masker.model.settings import SearchSettings


def tasks(masker: Masker) -> list[dict[str, Any]]:
    """All pairs of domains with the methods that can be used for them, those of counterparts first."""
    domains, never = masker.domains, masker.model.settings.sources_only
    pairs = list(permutations(domains, 2)) if len(domains) > 1 else [(None, domains[0])]
    found = [_task(masker, from_, to) for from_, to in pairs if to not in never]
    return sorted(found, key=lambda task: not is_usual(masker, task, task["to"]))


def is_usual(masker: Masker, task: dict[str, Any], to: str) -> bool:
    """Whether a task is to rewrite to a domain from its counterpart."""
    return bool(task["to"] == to and task["from"] == masker.model.settings.domains[to])


def domains(masker: Masker) -> list[dict[str, str | None]]:
    """The domains and their counterparts."""
    counterparts = masker.model.settings.domains
    return [{"name": name, "from": counterparts.get(name)} for name in masker.domains]


def _task(masker: Masker, from_: str | None, to: str) -> dict[str, Any]:
    task = masker.task(to, from_)
    methods = [name for name, method in METHODS.items() if not method.lacks(masker, task)]
    strength = SearchSettings.of(masker.model.settings.search.get(to, {})).strength
    return {"from": from_, "to": to, "methods": methods, "strength": strength}
