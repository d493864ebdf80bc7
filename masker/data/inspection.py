"""A look at corpora before anything is trained on them: what will matter, and what should be mended first."""

import itertools
import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from masker.core.segments import sentence_ends
from masker.core.text import Text, Word, split_words
from masker.data.separability import SAMPLE_CHARS, inseparable, samples, separability, telling_words, topic_share
from masker.data.words import whitespace_words

LOOKED_AT = 5000  # lines per domain that are read character by character
FEW = 500  # different lines of a domain, below which little can be learnt
TOPICAL = 0.65  # share of the difference that shows in subjects, above which it is one of topic: see `topic_share`
# What UTF-8 looks like when it was read as Latin-1 or Windows-1252, what was lost for good, and control characters.
_BROKEN = re.compile("[ÃÂ][\u0080-\u00bf‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€|\ufffd|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_APART = re.compile(r"(?<=\S)\s[.,!?;:](?=\s|$)")  # a mark with a space before it
_JOINED = re.compile(r"(?<=\w)[.,!?;:](?=\s|$)")
# The words that give a language away; enough to tell corpora of these apart, and no others.
_FUNCTION_WORDS = {
    "English": "the and of to is was that it for with you this not are have",
    "German": "der die das und ist nicht ich ein eine mit den zu es auf sich auch",
    "French": "le la les et est des que une pas pour dans je qui du ce il",
    "Spanish": "el la los que de y en es no un por con una para lo se",
    "Portuguese": "o a que de e não um uma os para com em do da é mais",
    "Italian": "il che di e la non un per è una con sono del le mi si",
    "Dutch": "de het een en van is dat niet ik te zijn op voor met die er",
    "Polish": "i w nie na się z do to że jest o jak po ale co za",
    "Swedish": "och att det som en är på jag inte för av med den till har om",
    "Russian": "и в не на что я с он как это по но к у из за",
}
_LANGUAGES = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}


@dataclass(frozen=True)
class DomainLook:
    """What one corpus is like. Shares are from 0 to 1, of its different lines."""

    name: str
    lines: int
    distinct: int
    words: tuple[int, int, int]  # of a line: median, 95th percentile, most
    lengths: tuple[int, ...]  # words of the lines looked at
    sentences: float  # of a line, on average
    language: str  # a guess, "?" where there is none
    scripts: tuple[tuple[str, float], ...]  # of the letters, the most frequent first
    lower_case: float  # lines without a capital
    tokenised: float  # lines with marks that have a space before them, of those with marks
    broken: float  # lines with characters that should not be there

    @property
    def form(self) -> str:
        """How the text is written, in words."""
        case = "lower case" if self.lower_case > 0.95 else "capitals"
        return f"{case}, {'tokenised' if self.tokenised > 0.8 else 'raw'}"


@dataclass(frozen=True)
class PairLook:
    """What tells two corpora apart: how well a quick classifier does, and by what."""

    first: str
    second: str
    shared: int  # different lines that are in both
    accuracy: float
    lines: int  # that the accuracy was measured on
    first_words: tuple[str, ...]
    second_words: tuple[str, ...]
    topic: float | None  # see `topic_share`


@dataclass(frozen=True)
class Look:
    """All that was seen, and warnings of one line each, with the remedy."""

    domains: tuple[DomainLook, ...]
    pairs: tuple[PairLook, ...]
    warnings: tuple[str, ...]


def look(
    corpora: Mapping[str, Sequence[str]], pairs: Iterable[tuple[str, str]] | None = None, *, seed: int = 0
) -> Look:
    """Look at corpora, and at what tells each of the `pairs` apart, or any two of them. Takes seconds."""
    domains = tuple(look_at(name, lines) for name, lines in corpora.items())
    found = []
    by_name = {domain.name: domain for domain in domains}
    for first, second in itertools.combinations(corpora, 2) if pairs is None else pairs:
        english = by_name[first].language == by_name[second].language == "English"
        found.append(_compare({name: corpora[name] for name in (first, second)}, english=english, seed=seed))
    return Look(domains, tuple(found), (*_about_domains(domains), *_about_pairs(found, by_name)))


def look_at(name: str, lines: Sequence[str]) -> DomainLook:
    """What one corpus is like."""
    distinct = list(dict.fromkeys(line.strip() for line in lines))
    read = distinct[:: max(1, len(distinct) // LOOKED_AT)]
    lengths = sorted(len(whitespace_words(line)) for line in read)
    marked = [line for line in read if _APART.search(line) or _JOINED.search(line)]
    return DomainLook(
        name=name,
        lines=len(lines),
        distinct=len(distinct),
        words=(round(statistics.median(lengths)), lengths[int(0.95 * (len(lengths) - 1))], lengths[-1]),
        lengths=tuple(lengths),
        sentences=statistics.fmean(map(sentences, read)),
        language=language(read),
        scripts=scripts(read),
        lower_case=_share(line == line.lower() for line in read),
        tokenised=_share(len(_APART.findall(line)) > len(_JOINED.findall(line)) for line in marked),
        broken=_share(bool(_BROKEN.search(line)) for line in read),
    )


def sentences(line: str) -> int:
    """How many sentences a line has."""
    line = line[:SAMPLE_CHARS]
    words = tuple(Word(start, end, (), ()) for start, end in split_words(line))
    return 1 + sum(1 for _ in sentence_ends(Text(line, words)))


def language(lines: Sequence[str]) -> str:
    """The language whose function words are at least a tenth of all words, and the most; "?" if there is none."""
    words = Counter(word for line in lines for word in re.findall(r"[^\W\d_]+", line.lower()))
    covered = {name: sum(words[word] for word in known) for name, known in _LANGUAGES.items()}
    best = max(covered, key=lambda name: covered[name])
    return best if covered[best] >= 0.1 * max(1, words.total()) else "?"


def scripts(lines: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """The scripts of the letters with their shares, those above 1 %."""
    letters = Counter(_script(character) for line in lines for character in line if character.isalpha())
    total = max(1, letters.total())
    return tuple((name, count / total) for name, count in letters.most_common() if count > 0.01 * total)


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    first = unicodedata.name(letter, "unknown").split()[0].split("-")[0]
    return {"CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese"}.get(first, first.capitalize())


def _main_script(domain: DomainLook) -> str:
    return domain.scripts[0][0] if domain.scripts else "?"


def _share(truths: Iterable[bool]) -> float:
    found = list(truths)
    return sum(found) / max(1, len(found))


def _compare(corpora: Mapping[str, Sequence[str]], *, english: bool, seed: int) -> PairLook:
    first, second = corpora
    one, other = samples(corpora, seed)
    shared = {line.strip() for line in corpora[first]} & {line.strip() for line in corpora[second]}
    first_words, second_words = map(tuple, telling_words(one, other))
    topic = topic_share(one, other, english=english, seed=seed) if len(one) >= 50 else None
    accuracy = separability(corpora, seed=seed)
    lines = len(one) + len(other)
    return PairLook(first, second, len(shared), accuracy, lines, first_words, second_words, topic)


# -- warnings ----------------------------------------------------------------------------------------------------------


def _about_domains(domains: Sequence[DomainLook]) -> Iterable[str]:
    for d in domains:
        if d.distinct < FEW:
            yield f"'{d.name}' has {d.distinct} different lines; with fewer than {FEW} little can be learnt: give more"
        if d.distinct < 0.7 * d.lines:
            yield (
                f"{d.lines - d.distinct:,} of the {d.lines:,} lines of '{d.name}' are copies of others; "
                "remove them, or they will count for more than they say"
            )
        if d.broken > 0.005:
            yield (
                f"{d.broken:.1%} of '{d.name}' has characters of a wrong encoding (such as Ã© for é) or control "
                "characters; convert the file, or give its `encoding`"
            )
        if len(d.scripts) > 1 and d.scripts[1][1] > 0.1:
            mixed = ", ".join(f"{name} {share:.0%}" for name, share in d.scripts)
            yield f"'{d.name}' mixes scripts ({mixed}); take one language at a time"
        if d.words[1] > 60 and d.sentences > 3:
            yield (
                f"lines of '{d.name}' are long ({d.sentences:.1f} sentences on average); "
                "one sentence or two a line are learnt from best"
            )


def _about_pairs(pairs: Iterable[PairLook], domains: Mapping[str, DomainLook]) -> Iterable[str]:
    for p in pairs:
        one, other = domains[p.first], domains[p.second]
        names = f"'{p.first}' and '{p.second}'"
        if warning := inseparable(p.accuracy, p.lines, p.first, p.second):
            yield warning
        if p.topic is not None and p.topic > TOPICAL:
            yield (
                f"{names} differ in topic more than in style ({p.topic:.0%} of the difference is in what the lines are "
                "about), so edits will change the subject; take texts about the same things"
            )
        if p.shared > 0.02 * min(one.distinct, other.distinct):
            yield f"{p.shared:,} lines are in both {names}; remove them from one, for they teach nothing"
        if max(one.distinct, other.distinct) > 10 * min(one.distinct, other.distinct):
            yield f"{names} differ in size ten times or more; texts of the smaller one are what is missing"
        if one.language != other.language or _main_script(one) != _main_script(other):
            yield f"{names} seem to be in two languages; this is no translator: take one language"
        elif one.form != other.form:
            yield f"{p.first} is written in {one.form}, {p.second} in {other.form}; prepare both in the same way"
        if not 0.5 <= one.words[0] / max(1, other.words[0]) <= 2:
            yield (
                f"lines of '{p.first}' have {one.words[0]} words, of '{p.second}' {other.words[0]}; "
                "local edits cannot make a text much longer or shorter"
            )
