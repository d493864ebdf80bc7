"""What things of an account are called, and the one sentence that sums it up."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masker.core.account import Check, SegmentAccount
    from masker.core.explanation import Explanation

# the terms of a draft's rank (`search.ranking`): their names in a table, and what they say
TERMS = {
    "encoder": ("encoder", "how sure the encoder's classifier is of the target domain"),
    "bag_of_words": ("words", "how sure the classifier of its words alone is"),
    "likelihood": ("likelihood", "of the new words in the target domain"),
    "similarity": ("similarity", "how many of the words are kept"),
    "coherence": ("coherence", "how much less likely the words that stay have become"),
    "residue": ("residue", "how much some of them still speak for the source domain"),
    "sure": ("sure", "both classifiers are sure enough"),
    "critic": ("critic", "how probably a reader accepts it, by the critic"),
    "reader": ("reader", "what the reader makes of it"),
}
CHECKS = {
    "edits": "no more edits than allowed",
    "bag_of_words": "the classifier of its words is convinced",
    "encoder": "the encoder's classifier is convinced",
    "critic": "a reader would accept it, by the critic",
    "misfit": "no word has become much less likely",
}
_EDITORS = {
    "fast": "the student (fast)", "search": "the search editor (search)", "paper": "the paper's method",
    "phrases": "the phrase book (phrases)",
}  # fmt: skip


def tried_by(one: "SegmentAccount") -> str:
    """Whose rewrite was checked."""
    return "the phrase book" if one.method == "phrases" else "the student"


def check_value(check: "Check") -> str:
    """A number beside what it has to be."""
    if check.name == "edits":
        return f"{check.value:.0f} ≤ {check.bar:.0f}" if check.passed else f"{check.value:.0f} > {check.bar:.0f}"
    if check.at_most:
        return f"{check.value:.1f} {'<' if check.passed else '≥'} {check.bar:.1f} nats"
    return f"{check.value:.3f} {'≥' if check.passed else '<'} {check.bar:g}"


def chances(one: "SegmentAccount", to: str) -> str:
    """What the classifiers make of a stretch of text."""
    said = " and ".join(f"{p:.2f} by its {TERMS[name][0]}" for name, p in one.probabilities.items())
    return f"As it is, {to} has the probability {said}".replace("its encoder", "the encoder")


def summary(explanation: "Explanation") -> str:
    """Who answered, and why."""
    rewrite, account = explanation.rewrite, explanation.account
    by = _EDITORS.get(rewrite.method or "", rewrite.method or "")
    count = len(rewrite.edits)
    what = f"{count} edit{'' if count == 1 else 's'} by {by}" if count else f"Left alone by {by}"
    if explanation.method == "auto":
        what += ", which auto chose"
    reasons = list(dict.fromkeys(one.reason for one in account.segments)) if account else []
    why = rewrite.reason or (reasons[0] if len(reasons) == 1 else "")
    if not count and not why and explanation.method == "paper":
        why = "no edit scores high enough"
    sure = f" A reader would accept it with a probability of {rewrite.confidence:.2f}." if rewrite.confidence else ""
    return (f"{what}: {why}." if why else f"{what}.") + sure
