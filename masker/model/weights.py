"""The weights of a model folder as NumPy arrays, read one at a time: what runs without torch takes them from here."""

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from safetensors import safe_open

from masker.model.folder import PACKED, STYLE, one_line, weight_files
from masker.model.packed import pack_table, stored_names, unpack


class Weights(Mapping[str, np.ndarray]):
    """Weights by name, in float32, those of the style classifier as `style.NAME`; packed matrices are flat.

    Nothing is kept: what is asked for twice is read twice, unless somebody in this process still has it. So a model,
    its student and its critic share one table of embeddings; nobody may write into it.
    """

    _alive: ClassVar[WeakValueDictionary[tuple[Any, ...], np.ndarray]] = WeakValueDictionary()

    def __init__(self, folder: Path) -> None:
        self._folder, self._packed = folder, (folder / PACKED).is_file()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._folder,)  # open files are read again

    @cached_property
    def _stored(self) -> dict[str, tuple[Any, str]]:
        """By each key, which is a weight's or a packed part's, the open file that it is in and its name there."""
        stored: dict[str, tuple[Any, str]] = {}
        for path in [*weight_files(self._folder), self._folder / STYLE]:
            if path.name == STYLE and not path.is_file():
                continue
            with one_line(f"cannot load the model '{self._folder}'"):
                file = safe_open(path, "np")
                keys = [key for key in file.keys() if path.name != STYLE or key in ("weight", "bias")]  # noqa: SIM118
            stored |= {f"style.{key}" if path.name == STYLE else key: (file, key) for key in keys}
        return stored

    def _read(self, key: str) -> np.ndarray:
        file, name = self._stored[key]
        array: np.ndarray = file.get_tensor(name)
        return array

    def __getitem__(self, name: str) -> np.ndarray:
        with one_line(f"cannot load the model '{self._folder}'"):
            found = self._alive.get((*self._version, name))
            if found is None:
                found = self._alive[*self._version, name] = unpack(name, self._stored, self._read)
            return found

    @cached_property
    def _version(self) -> tuple[Any, ...]:
        """What the files are known by: another model may come to the same folder."""
        paths = [*weight_files(self._folder), self._folder / STYLE]
        return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_ino) for path in paths if path.is_file())

    def parts(self, name: str, columns: int) -> dict[str, np.ndarray]:
        """A table of embeddings as it is packed, whether it is stored so or not: `0.high`, `0.low`, `0.scale` ..."""
        if name in self._stored:
            return pack_table(self[name].reshape(-1, columns))
        return {key.removeprefix(f"{name}."): self._read(key) for key in self._stored if key.startswith(f"{name}.")}

    def __iter__(self) -> Iterator[str]:
        return iter(stored_names(self._stored) if self._packed else self._stored)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def size(self) -> int:
        """How many numbers they are in all. Packed ones have to be unpacked to be counted."""

        def count(name: str) -> int:
            if name not in self._stored:
                return self[name].size
            file, key = self._stored[name]
            return math.prod(file.get_slice(key).get_shape())

        return sum(map(count, self))
