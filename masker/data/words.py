"""Words as white space parts them: the measure of how long texts are, and of how much of them is the same."""


def whitespace_words(text: str) -> list[str]:
    """The stretches of a text between white space, punctuation included.

    Editing knows a finer word, with outer punctuation split off (`core.text.split_words`). Limits of length and the
    similarity of silver pairs are counted by this one: figures of older runs stay comparable, and in text that was
    written without spaces before its punctuation a full stop is not one more word that two texts share.
    """
    return text.split()
