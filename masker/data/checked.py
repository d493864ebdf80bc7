"""JSON files, which may say anything, read into dataclasses: an error names the file and the key."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from masker.errors import MaskerError, unknown

T = TypeVar("T")


def read_object(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise MaskerError(f"{path} is no valid JSON: {error}") from error
    except OSError as error:
        raise MaskerError(f"cannot read {path}: {error.strerror or error}") from error
    if not isinstance(found, dict):
        raise MaskerError(f"{path} is no JSON object; copy or make it again")
    return found


def read_versioned(path: Path, version: int) -> dict[str, Any]:
    """The same of a file that says which `format` it has, without that."""
    found = read_object(path)
    if (said := found.pop("format", None)) != version:
        raise MaskerError(f"{path} has format {said}, this version reads {version}")
    return found


def checked(cls: type[T], values: Mapping[str, Any], where: object, *, others: Collection[str] | None = ()) -> T:
    """A dataclass made of what JSON gave, with all types as they should be; `where` is the file.

    Keys that it does not know are an error, but for `others`; None is all others.
    """
    kinds, own = get_type_hints(cls), {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    for key in values:
        if key not in own and others is not None and key not in others:
            raise MaskerError(f"{where}: {unknown('key', key, list(own))}")
    for key, field in own.items():
        if key in values:
            check_kind(key, values[key], kinds[key], where)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise MaskerError(f"{where} has no '{key}'; copy or make it again")
    try:
        return cls(**{key: value for key, value in values.items() if key in own})
    except MaskerError as error:
        raise MaskerError(f"{where}: {error}") from error


def check_kind(key: str, value: Any, kind: Any, where: object) -> None:
    """Refuse a value that is not of a type, in all of its parts."""
    if not fits(value, kind):
        name = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
        raise MaskerError(f"{where}: '{key}' is {value!r:.60}; it should be of the type {name}")


def fits(value: Any, kind: Any) -> bool:
    """Whether what JSON gave is of a type, in all of its parts. A number is a finite one."""
    parts, origin = get_args(kind), get_origin(kind)
    if kind is Any:
        return True
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(fits(k, parts[0]) and fits(v, parts[1]) for k, v in value.items())
    if origin in (list, tuple):  # JSON has only lists, and ours are all of one type
        return isinstance(value, list) and all(fits(part, parts[0]) for part in value)
    if origin is UnionType:
        return any(fits(value, part) for part in parts)
    if kind is type(None) or isinstance(value, bool):  # to Python a whole number, too
        return value is None if kind is type(None) else kind is bool
    if kind is float:
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, kind)
