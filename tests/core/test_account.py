"""What an account says as JSON: names, numbers of six digits, and nothing that is not there."""

import json

from masker.core.account import Account, Check, DraftRow, SegmentAccount, TagRound, TagRow
from masker.core.edits import Edit

TAG = TagRow(4, 8, "food", "KEEP", "good", 0.12345678)
DRAFT = DraftRow(
    "good food", (Edit(0, 3, "bad", "good", 0.5, 0.25, 0.125),), {"style": 0.1234567, "lm": -2.0}, 1.2345678, 9.8765432,
    chosen=True,
)  # fmt: skip
AS_IT_IS = DraftRow("bad food", (), {"style": 0.0, "length": 1.0}, 0.0, 0.0)
CHECK = Check("style", 0.98765432, 0.51234567, True)


def segment(**values: object) -> SegmentAccount:
    return SegmentAccount(2, 10, "bad food", "fast", "it passes", {"encoder": 0.98765432}, **values)  # type: ignore[arg-type]


def test_tags() -> None:
    row = {"start": 4, "end": 8, "word": "food", "tag": "KEEP", "added": "good", "probability": 0.123457}
    assert TAG.to_dict() == row
    assert TagRound("the food", (TAG, TAG)).to_dict() == {"text": "the food", "tags": [row, row]}


def test_drafts_and_checks() -> None:
    assert DRAFT.to_dict() == {
        "text": "good food",
        "edits": [{"start": 0, "end": 3, "old": "bad", "new": "good"}],
        "terms": {"style": 0.123457, "lm": -2.0},
        "total": 1.234568,
        "score": 9.876543,
        "chosen": True,
    }
    assert AS_IT_IS.to_dict()["chosen"] is False
    assert CHECK.to_dict() == {"name": "style", "value": 0.987654, "bar": 0.512346, "passed": True}
    assert not CHECK.at_most


def test_a_segment_tells_only_what_was_asked() -> None:
    bare = {"start": 2, "end": 10, "text": "bad food", "method": "fast", "reason": "it passes"}
    bare |= {"probabilities": {"encoder": 0.987654}}  # type: ignore[dict-item]
    assert segment().to_dict() == bare
    assert segment(student="good food").to_dict() == bare | {"student": "good food", "checks": []}
    assert segment(checks=(CHECK,)).to_dict() == bare | {"student": None, "checks": [CHECK.to_dict()]}
    searched = segment(as_it_is=AS_IT_IS, drafts=(DRAFT,)).to_dict()
    assert searched == bare | {"as_it_is": AS_IT_IS.to_dict(), "drafts": [DRAFT.to_dict()]}


def test_the_terms_of_a_segment_are_those_of_all_its_drafts_once() -> None:
    assert segment().terms == []
    assert segment(drafts=(DRAFT,)).terms == ["style", "lm"]
    assert segment(drafts=(DRAFT, DRAFT), as_it_is=AS_IT_IS).terms == ["style", "lm", "length"]


def test_an_account_has_what_there_is() -> None:
    assert Account().to_dict() == {}
    rounds, segments = (TagRound("the food", (TAG,)),), (segment(),)
    assert Account(rounds).to_dict() == {"rounds": [rounds[0].to_dict()]}
    assert Account(segments=segments).to_dict() == {"segments": [segments[0].to_dict()]}
    whole = Account(rounds, segments).to_dict()
    assert list(whole) == ["rounds", "segments"]
    assert json.loads(json.dumps(whole)) == whole
