"""What the service takes on, and how it says no."""

from dataclasses import dataclass, fields

from masker.errors import MaskerError, check_whole


@dataclass(frozen=True)
class Limits:
    """How much is taken on: bytes of a request, characters of a text, requests at a time, seconds that one may take."""

    max_body: int = 1_048_576
    max_chars: int = 10_000
    max_queue: int = 256
    max_seconds: float = 30.0

    def __post_init__(self) -> None:
        for field in fields(self):
            if not 0 < getattr(self, field.name) < float("inf"):
                raise MaskerError(f"`{field.name}` is {getattr(self, field.name):g}; it must be above 0")
        check_whole(1, max_body=self.max_body, max_chars=self.max_chars, max_queue=self.max_queue)

    @property
    def explained_chars(self) -> int:
        """A span takes as long to explain as a sentence does to rewrite, so texts to explain are shorter."""
        return min(self.max_chars, 2000)


class Refused(Exception):
    """A request that is not answered as it was meant, with the status and the reason to give."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def too_long(chars: int, limit: int, what: str = "the text") -> Refused:
    return Refused(422, f"{what} has {chars:,} characters, more than the limit of {limit:,}; split it")


def too_busy() -> Refused:
    return Refused(429, "too many requests at a time; try again in a moment")


def too_slow(seconds: float) -> Refused:
    return Refused(503, f"no answer within {seconds:g} seconds; try again, or send less at a time")


def closing() -> Refused:
    return Refused(503, "the service is shutting down; try again in a moment")
