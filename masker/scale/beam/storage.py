"""The files of a run, by Beam's own file systems: gs://, s3://, azfs://, hdfs:// and what else it has."""

import os
import uuid
from contextlib import suppress
from typing import IO

from apache_beam.io.filesystems import FileSystems

from masker.scale.storage import UNPACK, Stored


class BeamFiles:
    def match(self, pattern: str) -> list[Stored]:
        return [Stored(file.path, file.size_in_bytes) for file in FileSystems.match([pattern])[0].metadata_list]

    def open(self, path: str) -> IO[bytes]:
        ending = os.path.splitext(path)[1].lower()
        if ending in UNPACK:  # Beam takes half of a packed file for all of it
            unpacked: IO[bytes] = UNPACK[ending](FileSystems.open(path, compression_type="uncompressed"))
            return unpacked
        file: IO[bytes] = FileSystems.open(path)
        return file

    def put(self, path: str, data: bytes, scratch: str) -> None:
        if not FileSystems.exists(scratch):
            with suppress(OSError):  # object stores have no folders, and another worker may have been faster
                FileSystems.mkdirs(scratch)
        name = FileSystems.join(scratch, uuid.uuid4().hex)
        with FileSystems.create(name, compression_type="uncompressed") as file:
            file.write(data)
        FileSystems.rename([name], [path])

    def remove(self, folder: str) -> None:
        with suppress(Exception):
            FileSystems.delete([folder])
