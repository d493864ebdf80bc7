"""Where the files of a run are: on this machine, on a drive that all workers see, or, by fsspec, in an object store.

Beam has file systems of its own: `scale.beam.storage`.
"""

import bz2
import glob
import gzip
import lzma
import os
import uuid
from collections.abc import Callable
from typing import IO, Any, NamedTuple, Protocol

from masker.errors import MaskerError

UNPACK: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_OTHERS = (".zst", ".deflate")


class Stored(NamedTuple):
    path: str
    size: int  # in bytes


class Storage(Protocol):
    """All that a run asks of a file system. It is sent to the workers."""

    def match(self, pattern: str) -> list[Stored]: ...

    def open(self, path: str) -> IO[bytes]:
        """What is in a file, unpacked if its name says that it is packed."""
        ...

    def put(self, path: str, data: bytes, scratch: str) -> None:
        """A file that is there whole or not at all; `scratch` is a folder beside it."""
        ...

    def remove(self, folder: str) -> None: ...


class Files:
    """Local paths as they are, and whatever has :// in it by fsspec."""

    def match(self, pattern: str) -> list[Stored]:
        if "://" in pattern:
            system, path = _fsspec(pattern)
            found = system.glob(path, detail=True)
            return [Stored(system.unstrip_protocol(name), found[name]["size"]) for name in sorted(found)]
        names = [pattern] if os.path.isfile(pattern) else sorted(filter(os.path.isfile, glob.glob(pattern)))
        return [Stored(name, os.path.getsize(name)) for name in names]

    def open(self, path: str) -> IO[bytes]:
        file: IO[bytes]
        if "://" in path:
            system, name = _fsspec(path)
            file = system.open(name, "rb")
        else:
            file = open(path, "rb")  # noqa: SIM115  (whoever asked closes it)
        ending = os.path.splitext(path)[1].lower()
        if ending in _OTHERS:
            file.close()
            raise MaskerError(f"{path} is packed in a way that only Beam reads here; unpack it, or pack it as gz")
        return UNPACK[ending](file) if ending in UNPACK else file

    def put(self, path: str, data: bytes, scratch: str) -> None:
        if "://" in path:
            system, target = _fsspec(path)
            system.pipe_file(target, data)  # an object is there when it is whole
            return
        os.makedirs(scratch, exist_ok=True)
        part = os.path.join(scratch, uuid.uuid4().hex)
        with open(part, "wb") as file:
            file.write(data)
        os.replace(part, path)

    def remove(self, folder: str) -> None:
        if "://" not in folder and os.path.isdir(folder):
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
            os.rmdir(folder)


def _fsspec(path: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise MaskerError(f"{path} needs fsspec and the package of that store; pip install fsspec s3fs, say") from error
    try:
        system, name = fsspec.core.url_to_fs(path)
    except (ImportError, ValueError) as error:
        raise MaskerError(f"cannot open {path}: {error}") from error
    return system, name
