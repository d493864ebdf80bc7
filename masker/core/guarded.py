"""No text stops a run: one that cannot be edited comes out as it went in, and says why."""

from collections.abc import Callable, Sequence

from masker.core.editor import Editor
from masker.core.edits import Rewrite
from masker.core.runtime import Pending
from masker.core.text import not_unicode, split_words
from masker.core.unspaced import is_unspaced
from masker.errors import MaskerError

CHARACTERS = 50  # of a word, on average, that are still taken for one


class Guarded:
    """An editor in whose place `refuse` may say, in one line, why a text is not edited at all.

    Where several texts at a time cannot be edited they are tried one by one, so that none takes another with it.
    """

    def __init__(self, editor: Editor, to: str, from_: str | None, refuse: Callable[[str], str | None]) -> None:
        self.editor, self.to, self.from_, self.refuse = editor, to, from_, refuse
        self.name, self.chunk, self.prefetch = editor.name, editor.chunk, editor.prefetch

    def begin(self, texts: Sequence[str]) -> Pending[list[Rewrite]]:
        refused = {k: why for k, text in enumerate(texts) if (why := self.refuse(text))}
        going = [text for k, text in enumerate(texts) if k not in refused]
        try:
            wait = self.editor.begin(going)
        except Exception:
            wait = _again

        def finished() -> list[Rewrite]:
            try:
                done = iter(wait())
            except Exception:
                done = iter([self._alone(text) for text in going])
            return [self._kept(text, refused[k]) if k in refused else next(done) for k, text in enumerate(texts)]

        return finished

    def _alone(self, text: str) -> Rewrite:
        try:
            return self.editor.begin([text])()[0]
        except Exception as error:
            said = str(error).strip().partition("\n")[0]
            return self._kept(text, said if isinstance(error, MaskerError) else f"{type(error).__name__}: {said}")

    def _kept(self, text: str, why: str) -> Rewrite:
        return Rewrite(text, text, self.from_, self.to, error=why)


def refusal(text: object, max_words: int) -> str | None:
    """Why a text is not edited at all, if it is not: it is no text, or too long."""
    if not isinstance(text, str):
        hint = "decode it first" if isinstance(text, bytes | bytearray) else "give text"
        return f"it is {type(text).__name__}, not str; {hint}"
    if why := not_unicode(text):
        return f"it is {why}"
    remedy = "split it into sentences, one a line, or raise the limit with `max_words`"
    if len(text) > (most := max_words * CHARACTERS):
        return f"it has {len(text):,} characters, more than {most:,}, {CHARACTERS} for each of `max_words`; {remedy}"
    if len(text) <= max_words or (words := _count(text)) <= max_words:
        return None
    return f"it has {words:,} words, more than the limit of {max_words:,}; {remedy}"


def _count(text: str) -> int:
    return len(split_words(text)) if is_unspaced(text) else len(text.split())


def _again() -> list[Rewrite]:
    raise MaskerError("texts could not be begun together")
