"""Bytes in, lines out: files opened, packed or not, and decoded with errors that name the place and the remedy."""

import bz2
import errno
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, AnyStr, cast

from masker.errors import MaskerError

PACKED = (".gz", ".xz", ".bz2")
LINE = 2**24  # bytes, or characters, of a line at most: a packed file of a few kilobytes may hold gigabytes in one


def numbered_lines(path: Path, encoding: str | None = "utf-8", *, keep_mark: bool = False) -> Iterator[tuple[int, str]]:
    """The decoded lines of a file, or of standard input for `-`, with their numbers, newlines kept.

    A byte order mark at the beginning is no text, and goes unless told to `keep_mark`. Without an encoding it is UTF-8,
    and an error does not say to choose another: the caller has no such option.
    """
    name = encoding or "utf-8"
    try:
        newline = "\n".encode(name)
    except (LookupError, ValueError) as error:
        raise MaskerError(f"unknown encoding '{name}'; use one that Python knows, e.g. latin-1") from error
    # Where a newline is one byte, lines can be decoded one by one and an error knows its place; in UTF-16 it is not.
    decode = _decode_lines if newline == b"\n" else _decode_stream
    try:
        with _stdin() if str(path) == "-" else open_packed(path) as stream:
            for number, line in decode(path, stream, encoding):
                yield number, line.removeprefix("\ufeff") if number == 1 and not keep_mark else line
    except (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError) as error:
        raise MaskerError(f"{path} is not a whole {path.suffix} file ({error}); pack or copy it again") from error
    except OSError as error:
        raise MaskerError(f"cannot read {path}: {error.strerror or error}; give a readable file") from error


def _stdin() -> IO[bytes]:
    if sys.stdin is None or sys.stdin.closed:
        raise OSError(errno.EBADF, "standard input is closed")
    return sys.stdin.buffer


def open_packed(path: Path, mode: str = "rb") -> IO[bytes]:
    """A file of bytes, packed or not as its ending says."""
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
    return cast(IO[bytes], openers.get(path.suffix.lower(), open)(path, mode))


def _decode_lines(path: Path, stream: IO[bytes], encoding: str | None) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(short_lines(path, stream), 1):
        try:
            line = raw.decode(encoding or "utf-8")
        except UnicodeDecodeError as error:
            # Most binary files break UTF-8 a little before their first NUL byte.
            _refuse_binary(path, number, raw + stream.read(2**16), encoding)
            bad = f"byte {error.start} (0x{raw[error.start]:02x}) is not {encoding or 'utf-8'}"
            hint = "give the file's `encoding`, e.g. latin-1" if encoding else "convert it, e.g. with iconv"
            raise MaskerError(f"{path}, line {number}: {bad}; {hint}") from error
        _refuse_binary(path, number, raw, encoding)
        yield number, line


def _decode_stream(path: Path, stream: IO[bytes], encoding: str | None) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, line in enumerate(short_lines(path, io.TextIOWrapper(stream, encoding, newline="\n")), 1):
            yield number, line
    except UnicodeError as error:  # it was decoded block by block, so the line is known only roughly
        raise MaskerError(f"{path} is not {encoding} text after line {number}; try another `encoding`") from error


def short_lines(path: str | Path, stream: IO[AnyStr]) -> Iterator[AnyStr]:
    """The lines of a file, none of which may be longer than LINE: memory is bounded by it."""
    number = 0
    while line := stream.readline(LINE + 1):
        number += 1
        if len(line) > LINE:
            raise MaskerError(
                f"{path}, line {number}: it is longer than {LINE >> 20} MB; cut it into lines, one a text"
            )
        yield line


def _refuse_binary(path: Path, number: int, raw: bytes, encoding: str | None) -> None:
    if b"\0" in raw:
        hint = "give a text file" + (", or `encoding` utf-16 if it is one" if encoding else "")
        raise MaskerError(f"{path} is binary (a NUL byte in or soon after line {number}); {hint}")
