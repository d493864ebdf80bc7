"""The files of a run, by Beam's own file systems: gs://, s3://, azfs://, hdfs:// and what else it has."""

import uuid
from contextlib import suppress
from typing import IO

from apache_beam.io.filesystems import FileSystems

from masker.scale.storage import Stored


class BeamFiles:
    def match(self, pattern: str) -> list[Stored]:
        return [Stored(file.path, file.size_in_bytes) for file in FileSystems.match([pattern])[0].metadata_list]

    def open(self, path: str) -> IO[bytes]:
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
