from masker.core.spans import Span
from masker.core.text import Text
from masker.core.vocabulary import Vocabulary
from masker.runtime.memory import InParts
from masker.students.holes import Hole
from masker.students.reading import edit_beginnings


def test_beginnings_of_like_length_are_edited_together_and_what_follows_them_stays(vocabulary: Vocabulary) -> None:
    asked: list[list[str]] = []

    def first_word_goes(texts: list[Text]) -> list[list[Hole]]:
        asked.append([" ".join(text.source[w.start : w.end] for w in text.words) for text in texts])
        return [[Hole(Span(0, 1), ())] if len(text.words) > 1 else [] for text in texts]

    texts = ["the food", "it", " ", "", "so the food was great", "she was"]
    edited = edit_beginnings(vocabulary, texts, 4, first_word_goes, InParts(), at_most=2)
    assert edited == ["food", "it", " ", "", "the food was great", "was"]
    assert asked == [["so the food was", "the food"], ["she was", "it"]]
