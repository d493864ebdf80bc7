"""Words as white space parts them: the measure of how long texts are, and of how much of them is the same."""

from masker.core.text import split_words
from masker.core.unspaced import is_unspaced


def whitespace_words(text: str) -> list[str]:
    """The stretches of a text between white space, punctuation included; its words, in a script without spaces.

    Editing knows a finer word, with outer punctuation split off (`core.text.split_words`). Limits of length and the
    similarity of silver pairs are counted by this one: figures of older runs stay comparable, and in text that was
    written without spaces before its punctuation a full stop is not one more word that two texts share.
    """
    return [text[a:b] for a, b in split_words(text)] if is_unspaced(text) else text.split()
