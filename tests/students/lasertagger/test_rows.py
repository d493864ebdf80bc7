from masker.core.vocabulary import Vocabulary
from masker.students.lasertagger.rows import joined, pieces_of, rows_of, written
from masker.students.lasertagger.tags import KEEP, SWAP, Op, Tag


def test_a_row_has_a_slot_for_every_word_and_for_the_end(vocabulary: Vocabulary) -> None:
    ((ids, slots),) = rows_of(vocabulary, pieces_of(vocabulary, "curie was here"), 32)  # cu ##rie was here
    assert vocabulary.tokens(ids) == ["[CLS]", "cu", "##rie", "was", "here", "[SEP]"]
    assert slots == [1, 3, 4, 5]
    assert rows_of(vocabulary, pieces_of(vocabulary, " \n"), 32) == []


def test_a_long_text_becomes_several_rows_between_words(vocabulary: Vocabulary) -> None:
    rows = rows_of(vocabulary, pieces_of(vocabulary, "curie was here and curie was good"), 6)
    assert [vocabulary.tokens(ids) for ids, _ in rows] == [
        ["[CLS]", "cu", "##rie", "was", "here", "[SEP]"],
        ["[CLS]", "and", "cu", "##rie", "was", "[SEP]"],
        ["[CLS]", "good", "[SEP]"],
    ]
    assert [slots for _, slots in rows] == [[1, 3, 4, 5], [1, 2, 4, 5], [1, 2]]


def test_what_rows_would_add_at_their_ends_counts_only_for_the_last() -> None:
    assert joined([]) == []
    assert joined([[1, 2, 9]]) == [1, 2, 9]
    assert joined([[1, 2, 9], [3, 9], [4, 8]]) == [1, 2, 3, 4, 8]


def test_tags_are_written_into_the_text_as_it_is_spaced() -> None:
    so = Tag(Op.DELETE, " so")
    assert written("The food was good!", [KEEP, KEEP, KEEP, so, KEEP, KEEP]) == "The food was so!"
    assert written("  The\tfood  was good!\n", [KEEP, KEEP, KEEP, so, KEEP, KEEP]) == "  The\tfood  was so!\n"


def test_a_swap_in_the_wrong_place_only_keeps() -> None:
    assert written("he . she .", [KEEP, SWAP, KEEP, KEEP, KEEP]) == "she . he ."
    assert written("he . she .", [SWAP, Tag(Op.KEEP, " too"), KEEP, Tag(Op.SWAP, " so"), KEEP]) == "he too . she so ."
