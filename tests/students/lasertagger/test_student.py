import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from masker.errors import MaskerError
from masker.students.base import DECODERS, Pair, Student, StudentSettings
from masker.students.lasertagger import student as lasertagger
from masker.students.lasertagger.network import Autoregressive
from masker.students.lasertagger.student import LaserTagger
from masker.students.lasertagger.tags import KEEP, Op, Tag
from masker.training.progress import Progress

SUBJECTS = ("the food", "the staff", "the service", "it", "she", "he", "marie", "paris", "london", "the people")
RULES = {"really good": "good", "nice": "not nice", "rude": "rude"}  # delete a word, add a word, do nothing
PAIRS = [
    Pair(f"{subject} {verb} {old} {end}", f"{subject} {verb} {new} {end}")
    for subject, verb, end in itertools.product(SUBJECTS, ("was", "is", "were"), (".", "!", "here .", "and so ."))
    for old, new in RULES.items()
]
SETTINGS = StudentSettings(steps=150, batch_size=32, lr=3e-3, dropout=0.0, eval_every=50, device="cpu")
SEEN = "paris was really good ."


def make(base: Path, pairs: list[Pair] = PAIRS, settings: StudentSettings = SETTINGS, **options: Any) -> LaserTagger:
    return LaserTagger.create(base, pairs, settings=settings, **options)


@pytest.fixture(scope="module", params=DECODERS)
def student(request: pytest.FixtureRequest, base: Path) -> LaserTagger:
    """One that has learnt the rules."""
    student = make(base, decoder=request.param)
    student.fit(PAIRS, settings=SETTINGS)
    return student


def tagging(base: Path, *tags: Tag, window: int = 32) -> LaserTagger:
    """A student that gives the words of every row these tags."""
    student = make(base, settings=StudentSettings(max_length=window, device="cpu"))
    student.tags.tags.extend(tags)
    numbers = list(range(len(student.tags.tags) - len(tags), len(student.tags.tags)))

    def predict(ids: torch.Tensor, attention: torch.Tensor, slots: torch.Tensor, keep: torch.Tensor) -> Any:
        tags = torch.tensor([(numbers * 99)[: slots.shape[1]]] * len(ids))
        return tags, torch.ones(tags.shape)

    student.model.predict = predict  # type: ignore[method-assign]
    return student


def test_a_trivial_rewrite_is_learnt(student: LaserTagger) -> None:
    made = student.card["made"][-1]
    assert made["scores"]["exact"] == 100
    assert made["scores"]["keep_only"] == pytest.approx(100 / 3, abs=15)
    assert (made["coverage"], made["held_out"], made["too_long"]) == (100, 20, 0)
    assert student.card["phrases"] == 1
    assert student.edit(["She was really good here !", "", "he is nice and so .", "it was rude ."]) == [
        "She was good here !", "", "he is not nice and so .", "it was rude .",
    ]  # fmt: skip


def test_a_student_is_the_same_after_saving(student: LaserTagger, tmp_path: Path) -> None:
    student.save_pretrained(tmp_path / "student")
    loaded = Student.from_pretrained(tmp_path / "student", device="cpu")
    assert isinstance(loaded, LaserTagger)
    assert loaded.card == student.card
    texts = [pair.source for pair in PAIRS[::7]]
    assert loaded.edit(texts) == student.edit(texts) != texts
    assert {path.suffix for path in (tmp_path / "student").iterdir()} <= {".json", ".safetensors", ".txt"}


def test_a_damaged_student_is_refused(student: LaserTagger, tmp_path: Path) -> None:
    student.save_pretrained(tmp_path)
    fields = json.loads((tmp_path / "student.json").read_text())
    (tmp_path / "student.json").write_text(json.dumps({**fields, "phrases": ["one", "two"]}))
    with pytest.raises(MaskerError, match="cannot load the student"):
        Student.from_pretrained(tmp_path)


def test_the_order_and_company_of_texts_do_not_matter(student: LaserTagger) -> None:
    texts = [pair.source for pair in random.Random(0).sample(PAIRS, 40)]
    assert student.edit(texts) == [student.edit([text])[0] for text in texts]


def test_word_by_word_the_autoregressive_decoder_says_the_same(base: Path) -> None:
    tagger = make(base, decoder="autoregressive").model
    for layer in (tagger.head, tagger.decoder.attend, tagger.decoder.attended):  # type: ignore[union-attr]
        torch.nn.init.normal_(layer.weight)
    ids = torch.randint(5, 60, (3, 9))
    slots = torch.arange(1, 9).expand(3, 8)
    with torch.inference_mode():
        best, _ = tagger.predict(ids, torch.ones_like(ids), slots, torch.zeros(1))
        logits = tagger(ids, torch.ones_like(ids), slots, best)
    assert (logits.argmax(-1) == best).all()
    assert best.unique().numel() > 1


def test_the_autoregressive_decoder_does_not_look_ahead() -> None:
    torch.manual_seed(0)
    decoder = Autoregressive(16, 5).eval()
    words, tags = torch.randn(2, 6, 16), torch.randint(0, 5, (2, 6))
    before = decoder(words, tags)
    words[:, 4:], tags[:, 3:] = 9.0, 0
    after = decoder(words, tags)
    assert torch.allclose(before[:, :4], after[:, :4], atol=1e-6)
    assert not torch.allclose(before[:, 4:], after[:, 4:], atol=1e-2)


def test_fitting_again_goes_on_from_what_was_learnt(base: Path) -> None:
    student = make(base)
    student.fit(PAIRS, settings=SETTINGS)
    student.fit(PAIRS[:60], settings=StudentSettings(steps=1, lr=1e-6, device="cpu"), dev=PAIRS[60:120])
    first, second = student.card["made"]
    assert (first["steps"], second["steps"]) == (150, 1)
    assert second["scores"]["exact"] == 100


def test_the_same_seed_gives_the_same_student(base: Path) -> None:
    settings = StudentSettings(steps=5, device="cpu")
    losses: list[list[float]] = [[], []]
    for seen in losses:
        make(base, settings=settings).fit(PAIRS, settings=settings, report=lambda p, seen=seen: seen.append(p.loss))
    assert losses[0] == losses[1]


# -- against keeping everything ----------------------------------------------------------------------------------------


def test_tags_start_out_as_likely_as_they_are(base: Path) -> None:
    tagger = make(base).model
    words = sum(len(pair.source.split()) + 1 for pair in PAIRS)
    expected = torch.tensor([words - 240, 120, 0, 120, 0]) + 1.0
    assert torch.allclose(tagger.head.bias.exp(), expected / expected.sum())


def test_edited_words_weigh_more(base: Path) -> None:
    student = make(base)
    rows, tags, _ = student._tagged(PAIRS[:1])
    assert tags[0] != [0] * len(tags[0])
    one = torch.zeros(1, dtype=torch.long)
    with torch.no_grad():
        student.model.head.weight.zero_()
        plain, weighted = (
            student._examples(rows, tags, weight).loss(student.model, one, len(rows[0][0])) for weight in (1.0, 3.0)
        )
        log_p = student.model.head.bias.log_softmax(0)[tags[0]]
    assert plain == pytest.approx(-float(log_p.mean()), abs=1e-5)
    weights = torch.tensor([3.0 if n else 1.0 for n in tags[0]])
    assert weighted == pytest.approx(-float((weights * log_p).sum() / weights.sum()), abs=1e-5)
    assert student.fit(PAIRS, settings=StudentSettings(steps=1, device="cpu"))["edit_weight"] > 1.5


def test_pairs_with_nothing_to_edit_do_not_take_over(base: Path) -> None:
    changed = [pair for pair in PAIRS if pair.source != pair.target][:80]
    same = [Pair(f"{pair.source} {k}", f"{pair.source} {k}") for k, pair in enumerate(PAIRS)]
    made = make(base).fit(changed + same, settings=StudentSettings(steps=1, device="cpu"), dev=[])
    assert (made["pairs"], made["used"]) == (80 + len(same), 100)
    made = make(base).fit(changed + same[:7], settings=StudentSettings(steps=1, device="cpu"), dev=[])
    assert made["used"] == 87
    with pytest.raises(MaskerError, match="nothing to learn"):
        make(base).fit(same, settings=SETTINGS)


def test_every_evaluation_tells_the_share_of_kept_texts(base: Path) -> None:
    reports: list[Progress] = []
    settings = StudentSettings(steps=2, eval_every=1, lr=1e-9, device="cpu")
    make(base).fit(PAIRS, settings=settings, report=reports.append)
    assert [p.newest and p.newest.details["keep_only"] for p in reports] == [100, 100]


# -- pairs and texts of all kinds --------------------------------------------------------------------------------------


def test_what_cannot_be_learnt_is_counted_and_left_out(base: Path) -> None:
    long = Pair("good " * 40, "nice " * 40)
    pairs = [*PAIRS[:40], Pair("it was good .", "paris and london ."), long]
    student = LaserTagger.create(base, pairs, settings=StudentSettings(max_length=32, device="cpu"), phrases=1)
    made = student.fit(pairs, settings=StudentSettings(steps=1, device="cpu"), dev=PAIRS)
    assert student.card["coverage"] == made["coverage"] == pytest.approx(100 * 40 / 42, abs=0.01)
    assert (made["too_long"], made["used"]) == (1, 34)  # 27 edit something


def test_a_text_longer_than_the_window_is_edited_in_parts(base: Path) -> None:
    student = tagging(base, Tag(Op.DELETE), KEEP, KEEP, window=10)  # room for 8 pieces
    text = "a b c d e f g h i j k l m n o p q r"
    assert student.edit([text, "", "a"]) == ["b c e f h j k m n p r", "", ""]


def test_a_word_longer_than_the_window_can_be_edited(student: LaserTagger) -> None:
    word = "qx" * 45
    assert len(student.vocabulary.read(word).pieces) > student.model.encoder.max_length
    assert student.edit([f"she was {word} .", word])[0].startswith("she was")


def test_only_what_is_edited_changes(base: Path) -> None:
    student = tagging(base, KEEP, KEEP, Tag(Op.DELETE, " so"), KEEP)
    assert student.edit(["  The\tfood  was, um,  Good!  \n"]) == ["  The\tfood so, um, so!  \n"]


def test_a_swap_counts_only_where_the_first_of_two_sentences_ends(base: Path) -> None:
    student = tagging(base, KEEP, Tag(Op.SWAP))
    assert student.edit(["he . she .", "he . she . it ."]) == ["she . he .", "he . she . it ."]


@pytest.mark.parametrize(
    ("options", "said"),
    [({"decoder": "beam"}, "unknown decoder 'beam'"), ({"phrases": -1}, "`phrases` is -1"), ({"beams": 2}, "'beams'")],
)
def test_bad_options_are_refused(base: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(MaskerError, match=said):
        make(base, **options)


def test_any_family_of_encoders_can_be_a_student(family: str, maskers: Any, tmp_path: Path) -> None:
    maskers(family).model.save_pretrained(tmp_path)
    student = make(tmp_path, settings=StudentSettings(device="cpu", max_length=48))
    student.fit(PAIRS[:64], settings=StudentSettings(steps=2, device="cpu"))
    student.save_pretrained(tmp_path / "student")
    assert Student.from_pretrained(tmp_path / "student", device="cpu").edit([SEEN]) == student.edit([SEEN])


def test_the_module_says_what_it_does_against_collapse() -> None:
    assert f"{lasertagger.MOST_IDENTICAL:.0%}".replace("%", " %") in (lasertagger.__doc__ or "")
