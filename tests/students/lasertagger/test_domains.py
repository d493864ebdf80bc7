"""A tagger that writes two domains, lies in its model's folder, and runs without torch."""

import itertools
import shutil
from pathlib import Path

import pytest
from conftest import make_model

from masker.errors import MaskerError
from masker.model.folder import GRAPHS, PACKED, PLAIN
from masker.students.base import Pair, Student, StudentSettings
from masker.students.lasertagger.export import export_student
from masker.students.lasertagger.light import LightTagger
from masker.students.lasertagger.student import LaserTagger

SUBJECTS = ("the food", "the staff", "the service", "it", "she", "he", "marie", "paris", "london", "the people")
ENDS = (".", "!", "here .", "and so .")
PAIRS = [
    Pair(f"{subject} was {old} {end}", f"{subject} was {new} {end}", to)
    for subject, end in itertools.product(SUBJECTS, ENDS)
    for to, old, new in (
        ("positive", "bad", "good"),
        ("negative", "good", "bad"),
        ("positive", "rude", "nice"),
        ("positive", "nice", "nice"),
    )
]
SETTINGS = StudentSettings(steps=150, batch_size=32, lr=3e-3, dropout=0.0, eval_every=50, device="cpu")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a student in its folder, which shares its embeddings and is exported."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    make_model("bert").save_pretrained(folder)
    student = LaserTagger.create(folder, PAIRS, settings=SETTINGS, layers=1, shared=True)
    student.fit(PAIRS, settings=SETTINGS)
    student.save_pretrained(folder / "student")
    export_student(folder / "student")
    return folder


def test_one_student_writes_two_domains(model: Path) -> None:
    student = Student.from_pretrained(model / "student", device="cpu", exported=False)
    assert isinstance(student, LaserTagger)
    assert student.targets == ("negative", "positive")
    assert student.edit(["paris was bad ."], "positive") == ["paris was good ."]
    assert student.edit(["paris was good ."], "negative") == ["paris was bad ."]
    assert student.card["made"][-1]["scores"]["exact"] == 100


def test_it_has_to_be_told_which(model: Path) -> None:
    student = Student.from_pretrained(model / "student", device="cpu")
    with pytest.raises(MaskerError, match="the student writes negative and positive; choose one with `to`"):
        student.edit(["paris was bad ."])
    with pytest.raises(MaskerError, match=r"unknown domain of the student 'positiv'; .* did you mean 'positive'"):
        student.edit(["paris was bad ."], "positiv")


def test_embeddings_are_shared_and_not_stored_twice(model: Path, tmp_path: Path) -> None:
    from safetensors import safe_open

    with safe_open(model / "student" / PLAIN, "np") as file:
        assert not [name for name in file.keys() if "embeddings" in name]  # noqa: SIM118
    assert not (model / "student" / "tokenizer.json").exists()
    alone = shutil.copytree(model / "student", tmp_path / "student")
    with pytest.raises(MaskerError, match="shares the embeddings of a model; put it into the model's folder"):
        Student.from_pretrained(alone, device="cpu")


def test_without_torch_it_writes_the_same(model: Path) -> None:
    ours = Student.from_pretrained(model / "student", device="cpu", exact=True)
    theirs = Student.from_pretrained(model / "student", device="cpu", exported=False)
    assert isinstance(ours, LightTagger)
    texts = ["It was bad here !", "", "the food  was rude and so ."]
    assert ours.edit(texts, "positive") == theirs.edit(texts, "positive") == [
        "It was good here !", "", "the food  was nice and so .",
    ]  # fmt: skip
    words = [[word.pieces for word in ours.vocabulary.read(texts[0]).words]]
    (tags, sure), (same, likely) = (s.tag(words, s.domain("positive"))[0] for s in (ours, theirs))  # type: ignore[attr-defined]
    assert tags == same
    assert sure == pytest.approx(likely, abs=1e-4)


def test_an_exported_one_is_not_taught(model: Path) -> None:
    student = Student.from_pretrained(model / "student", device="cpu")
    with pytest.raises(MaskerError, match="cannot be taught"):
        student.fit(PAIRS)
    with pytest.raises(MaskerError, match="cannot be taught"):
        LightTagger.create(None, PAIRS)
    with pytest.raises(MaskerError, match="copy its folder"):
        student.save_pretrained(model / "other")


def test_graphs_of_other_weights_are_refused(model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model, tmp_path / "model")
    other = LaserTagger.create(copy, PAIRS, settings=SETTINGS, layers=1, shared=True)
    graphs = (copy / "student" / GRAPHS).read_bytes()
    other.save_pretrained(copy / "student")
    assert not (copy / "student" / GRAPHS).exists()  # they would be of the student before
    (copy / "student" / GRAPHS).write_bytes(graphs)
    with pytest.raises(MaskerError, match="of other weights"):
        Student.from_pretrained(copy / "student", device="cpu")


def test_packed_it_is_smaller_and_the_same(model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model, tmp_path / "model")
    student = Student.from_pretrained(copy / "student", device="cpu", exported=False)
    plain = (copy / "student" / PLAIN).stat().st_size
    student.save_pretrained(copy / "student", packed=True)
    assert not (copy / "student" / PLAIN).exists()
    assert (copy / "student" / PACKED).stat().st_size < 0.6 * plain  # vectors are as they were
    packed = Student.from_pretrained(copy / "student", device="cpu", exported=False)
    texts = [pair.source for pair in PAIRS]
    assert packed.edit(texts, "positive") == student.edit(texts, "positive")


def test_a_single_domain_that_the_base_does_not_know_is_no_target(base: Path) -> None:
    student = LaserTagger.create(base, [Pair("it was bad .", "it was good .", "civil")], settings=SETTINGS)
    assert student.targets == ()
    two = [Pair("it was bad .", "it was good .", "civil"), Pair("it was good .", "it was bad .", "rude")]
    with pytest.raises(MaskerError, match="unknown domain 'civil'"):
        LaserTagger.create(base, two, settings=SETTINGS)


def test_layers_of_the_encoder(base: Path) -> None:
    with pytest.raises(MaskerError, match=r"`layers` is 9; the encoder has \d"):
        LaserTagger.create(base, PAIRS[:1], settings=SETTINGS, layers=9)
    assert LaserTagger.create(base, [Pair("a", "b")], settings=SETTINGS, layers=1).model.config.num_hidden_layers == 1


def test_the_bias_towards_keeping(model: Path) -> None:
    student = Student.from_pretrained(model / "student", device="cpu")
    assert isinstance(student, LightTagger)
    texts = [pair.source for pair in PAIRS[:30]]
    usual = sum(map(str.__ne__, student.edit(texts, "positive"), texts))
    student.keep_bias = 100.0
    assert student.edit(texts, "positive") == texts
    student.keep_bias = -100.0
    assert sum(map(str.__ne__, student.edit(texts, "positive"), texts)) == 30 >= usual


def test_rounds_go_on_until_nothing_changes(model: Path) -> None:
    student = Student.from_pretrained(model / "student", device="cpu")
    assert isinstance(student, LightTagger)
    student.rounds = 3
    asked = []
    tag = student.tag
    student.tag = lambda words, domain: asked.append(len(words)) or tag(words, domain)  # type: ignore
    assert student.edit(["she was rude .", "she was nice ."], "positive") == ["she was nice ."] * 2
    assert asked == [2, 1, 0]
