"""Phrase books: what is read from a file, the drafts that it makes of a sentence, and which of them stand."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from masker.api import Masker
from masker.core.edits import Rewrite
from masker.errors import MaskerError
from masker.model.folder import EMBEDDED
from masker.search.accounts import auto_account
from masker.search.auto import AutoEditor
from masker.search.editor import SearchEditor
from masker.search.phrases import PHRASES, PhraseBook, trusted
from masker.search.writing import draft_editors
from search.styles import Critic, Idle, Words, searching, with_style

BOOK = """
# a comment
@am = am | i'm | i’m
@am a fool = @am wrong
old = uninvited
@heap = piece | heap | big pile
@is = is | 's
@heap of junk = bad thing | mess
@is a wreck = @is broken
a fool = wrong
fool = person
darned | blasted = - | really
, you fool = -
who the heck = who
sack = bag
@nag = @heap | goat
rotten @nag = old @nag
[. and] goat [. is ~ing] = animal
dont goat = do not play
you goat [.] = -
mr fool = mr fool
~blockhead~ = -
... = little | big
""".splitlines()


@pytest.fixture
def book() -> PhraseBook:
    return PhraseBook.read(BOOK)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("this is a piece of junk .", "this is a bad thing ."),
        ("This is a heap of junk!", "This is a bad thing!"),
        ("he is a darned little fool .", "he is wrong ."),
        ("an awful fool , a big fool", "an awful person , wrong"),
        ("it is late , you fool .", "it is late ."),
        ("Who the heck said that?", "Who said that?"),
        ("Blasted phone.", "Phone."),
        ("darned , i forgot it .", "i forgot it ."),
        ("Fool, wait.", "Person, wait."),
        ('"Fool" is what he said.', '"Person" is what he said.'),
        ("a darned old sack", "an old bag"),
        ("this is a big pile of junk", "this is a bad thing"),
        ("it 's a big darned wreck , it is a wreck", "it 's broken , it is broken"),
        ("a darned unicorn , a sack", "a unicorn , a bag"),
        ("an old unit , an old guest", "an uninvited unit , an uninvited guest"),
        ("Sorry, I'm a fool, or I’m a fool.", "Sorry, I'm wrong, or I’m wrong."),
        ("an hour , an FBI man , a sack", "an hour , an FBI man , a bag"),
        ("a rotten goat , a rotten heap", "an old goat , an old heap"),
        ("goat is tired and goat , a goat !", "animal is tired and animal , a goat !"),
        ("it is late you goat", "it is late"),
        ("Goat running, don't goat, Don’t goat, a goat's.", "Animal running, do not play, do not play, a goat's."),
        ("you goat is tired , you goats , the f00l", "you goat is tired , you goats , the person"),
        ("a s@ck , a s*ck , a saaack , sac", "a bag , a bag , a bag , sac"),
        ("Blockheadshere, wait, mr fool and the FOOOL.", "Wait, mr fool and the person."),
    ],
)
def test_what_stands_first_in_the_book_is_the_first_draft(book: PhraseBook, text: str, first: str) -> None:
    assert book.drafts(text)[0] == first


def test_all_ways_are_drafts_each_once(book: PhraseBook) -> None:
    drafts = book.drafts("a darned piece of junk")
    assert drafts[0] == "a bad thing"
    assert {"a mess", "a really bad thing", "a really mess"} <= set(drafts)
    assert len(set(drafts)) == len(drafts)
    assert book.drafts("a darned piece of junk", 2) == drafts[:2]


def test_a_word_that_is_a_phrase_by_itself_does_not_stay(book: PhraseBook) -> None:
    assert not any("fool" in draft or "darned" in draft for draft in book.drafts("the darned fool said it"))


@pytest.mark.parametrize(
    "text", ["", " ", "nothing is here .", "junk", "...", "darned", "darned !", "mr fool", "iii 50"]
)
def test_no_phrase_no_draft_and_none_without_words(book: PhraseBook, text: str) -> None:
    assert book.drafts(text) == (["really"] if text == "darned" else ["really !"] if text == "darned !" else [])


def test_what_is_kept_keeps_its_capitals() -> None:
    book = PhraseBook.read(["dick = person", "dick cheney = dick cheney", "fool = -"])
    assert book.drafts("Dick Cheney was here.") == []
    assert book.drafts("A fool met Dick Cheney.")[0] == "A met Dick Cheney."


@pytest.mark.parametrize(
    ("text", "draft"),
    [
        (">You are a fool .", ">You are a person ."),
        ("'Cause a fool did it .", "'Cause a person did it ."),
        (' "Darned , go away."', ' "Go away."'),
        ("'Tis fine .", None),
        (" so it is", None),
        ("who're they", None),
        ("sandblasts it", None),
        ("blastedly good", "good"),
        ("a lovable bore", "a lovable speaker"),
        ("so , bore", "so , speaker"),
        ("thank god bore", None),
    ],
)
def test_only_what_the_book_means_is_changed(text: str, draft: str | None) -> None:
    lines = [
        "fool = person",
        "darned = -",
        "whore = woman",
        "blast~ = -",
        "@oath = god damn",
        "[~able ,] bore = speaker",
    ]
    assert [*PhraseBook.read([*lines, "[@oath] bore = -"]).drafts(text)[:1]] == ([draft] if draft else [])


def test_long_sentences_full_of_phrases_end(book: PhraseBook) -> None:
    assert book.drafts("a darned little fool " * 2000)


def test_it_writes_as_writers_do(book: PhraseBook) -> None:
    assert [[beam.written for beam in beams] for beams in book.write(["a fool", "none"], "civil", beams=1)] == [
        ["wrong"],
        [],
    ]


@pytest.mark.parametrize(
    "line",
    ["no equals", "= new", "old =", "old = a || b", " | x = y", "@no thing = y", "[@no] x = y", "[x] = y", "a [b = c"],
)
def test_a_bad_line_is_told_by_its_number(line: str) -> None:
    with pytest.raises(MaskerError, match=r"line 2: .*OLD \| OLD = NEW"):
        PhraseBook.read(["a = b", line])


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(MaskerError, match="cannot read the phrase book"):
        PhraseBook.load(tmp_path / "none.txt")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe a = b")
    with pytest.raises(MaskerError, match="cannot read the phrase book"):
        PhraseBook.load(tmp_path / "bad.txt")


# -- in the editor ----------------------------------------------------------------------------------------------------


def editor(critic: Critic, *lines: str) -> AutoEditor:
    task, _, unit = searching(with_style())
    search = SearchEditor(task, Words(["great", "nice", "good"], ["bad", "terrible"]), unit=unit, critic=critic)  # type: ignore[arg-type]
    return AutoEditor(Idle(), search, phrases=draft_editors(PhraseBook.read(lines), task, unit, PHRASES))


def edited(text: str, critic: Critic, *lines: str) -> Rewrite:
    (made,) = editor(critic, *lines).begin([text])()
    return made


def test_a_refused_draft_of_the_book_is_not_told_as_the_students() -> None:
    _, account = auto_account(editor(Critic(), "bad = terrible"), "the food was bad .")
    assert account.segments[0].reason.startswith("the student would keep it as it is")


def test_the_first_draft_of_the_book_stands_whatever_a_critic_says() -> None:
    made = edited("the food was bad .", Critic(great=0.1, nice=0.9), "bad = great | nice")
    assert (made.text, made.method) == ("the food was great .", "phrases")


def test_the_next_one_stands_where_the_classifiers_are_sure_that_the_first_is_wrong() -> None:
    made = edited("the food was bad .", Critic(nice=0.5), "bad = terrible | nice")
    assert (made.text, made.method) == ("the food was nice .", "phrases")


def test_what_the_classifiers_are_sure_is_not_of_the_domain_does_not_stand() -> None:
    made = edited("the food was bad .", Critic(terrible=0.99), "bad = terrible")
    assert made.text != "the food was terrible ." or made.method != "phrases"


def test_the_book_is_trusted_more_than_the_critic_is_sure() -> None:
    sure = np.array([0.05, 0.2, 0.5, 0.8])
    assert (trusted(sure) > sure).all()
    assert (np.diff(trusted(sure)) > 0).all()


def test_the_embedded_book_serves_comments() -> None:
    masker = Masker.from_pretrained()
    made = masker.edit("It pisses me off when people do that, you idiot.", to="civil")
    assert (made.text, made.method) == ("It makes me angry when people do that.", "phrases")
    assert made.confidence is not None
    assert masker.edit("You fucking idiot, my $5 note is gone.", to="civil").text.endswith("$5 note is gone.")
    told = masker.explain("It pisses me off when people do that.", to="civil")
    assert told.account
    assert told.account.segments[0].reason == "the phrase book's rewrite passes all checks"


def test_a_model_without_a_student_uses_its_book(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(EMBEDDED, folder, ignore=shutil.ignore_patterns("student", "phrases"))
    text = "It pisses me off when people do that."
    assert Masker.from_pretrained(folder).edit(text, to="civil").method == "search"
    (folder / "phrases").mkdir()
    (folder / "phrases" / "civil.txt").write_text("pisses me off = annoys me\n", "utf-8")
    made = Masker.from_pretrained(folder).edit(text, to="civil")
    assert (made.text, made.method) == ("It annoys me when people do that.", "phrases")
    (folder / "phrases" / "civil.txt").write_text("pisses me off\n", "utf-8")
    with pytest.raises(MaskerError, match=r"civil\.txt, line 1: write OLD"):
        Masker.from_pretrained(folder).edit(text, to="civil")
