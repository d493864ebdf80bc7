"""One normalisation for every text that is compared, so that case and tokenisation never decide who is better.

In order: NFKC and lower case; curly quotes and stray backticks become straight ones; double quotes become the `` and ''
of the Penn Treebank; punctuation and clitics ("n't", "'s") become words of their own, as in "ca n't" and "can not";
white space collapses. Scripts that are written without spaces are compared character by character. A line that is
tokenised in that way already stays as it is. Words are split and never joined: the "it ' s" of a word-piece decoder is
kept as it was published, since where to join is a guess ("the boys ' s").
"""

import re
import unicodedata

from masker.core.unspaced import SCRIPTS

_CHARACTERS = str.maketrans(
    {"’": "'", "‘": "'", "‛": "'", "ʼ": "'", "´": "'", "′": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "—": " -- "}
)
# A full stop inside a line ends a sentence, unless it belongs to one of these.
_ABBREVIATIONS = ("dr", "mr", "mrs", "ms", "st", "vs", "jr", "sr", "co", "inc", "ave", "rd", "blvd")

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<=\w)`(?=\w)"), "'"),
    (re.compile(r"(``|''|\.{2,}|-{2,})"), r" \1 "),
    (re.compile(r"([!?;()\[\]{}$#%&@«»¿¡،؛؟।॥。、「」『』【】《》〈〉])"), r" \1 "),
    (re.compile(rf"([{SCRIPTS}][\u0300-\u036f]*)(?=\S)"), r"\1 "),  # no spaces part its words: characters are compared
    (re.compile(rf"(?<=\S)(?=[{SCRIPTS}])"), " "),
    (re.compile(r"(?<!\d)([,:])|([,:])(?!\d)"), r" \1\2 "),  # but 1,000 and 7:30
    (re.compile(rf"\b(?!(?:{'|'.join(_ABBREVIATIONS)})\b)(?<!\.)([^\W\d_]{{2,}})\.(?=\s)"), r"\1 ."),
    (re.compile(r"(?<=[^\s.])\.(?=\s*$)"), " ."),
    (re.compile(r"(?<=[a-z])(n't)(?![\w'])"), r" \1"),
    (re.compile(r"(?<=\w)('(?:s|m|d|ll|re|ve))(?![\w'])"), r" \1"),
    (re.compile(r"(?<=\w)'(?!\S)"), " '"),
    (re.compile(r"\b(can)(not)\b|\b(gon|wan)(na)\b|\b(got)(ta)\b"), r"\1\3\5 \2\4\6"),
)


def normalise(text: str) -> str:
    """The text lower-cased and tokenised as above; doing it twice changes nothing more."""
    text = unicodedata.normalize("NFKC", text.translate(_CHARACTERS)).lower()
    text = unicodedata.normalize("NFKC", text)  # lower case can leave characters that NFKC would join
    opening, *rest = text.split('"')
    text = opening + "".join(f" {'``' if i % 2 == 0 else chr(39) * 2} {part}" for i, part in enumerate(rest))
    # One split can lay bare the next, as in "don't.'": go on until nothing changes; tokenised lines need one round.
    while (split := _split(text)) != text:
        text = split
    return text


def _split(text: str) -> str:
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())
