from hypothesis import given
from hypothesis import strategies as st

from masker.students.lasertagger.tags import (
    DELETE,
    KEEP,
    SWAP,
    Op,
    Tag,
    TagSet,
    align,
    middle,
    phrase_vocabulary,
    realise,
    tokens,
)

CURIE = "marie curie was born in poland . marie curie died in france ."


def tagged(source: str, target: str, *phrases: str) -> list[str] | None:
    """The tags of a pair as a reader would write them: `-word` is deleted, `+(phrase)` comes before its word."""
    tags = TagSet([*phrases])
    split = tokens(source)
    numbers = tags.convert(split, tokens(target))
    if numbers is None:
        return None
    found = [tags.tags[n] for n in numbers]
    assert realise(split, found) == target
    signs = {Op.KEEP: "", Op.DELETE: "-", Op.SWAP: "<>"}
    return [
        (f"+({tag.phrase.strip()})" if tag.phrase else "") + signs[tag.op] + word.strip()
        for tag, word in zip(found, [*split, "END"], strict=True)
        if tag != KEEP
    ]


def test_golden_whole_sentences() -> None:
    fused = "marie curie was born in poland and died in france ."
    assert tagged(CURIE, fused, " and") == ["+(and)-.", "-marie", "-curie"]
    assert tagged(fused, CURIE, " . marie curie") == ["+(. marie curie)-and"]
    assert tagged("the food was terrible .", "the food was great .", " great") == ["+(great)-terrible"]
    assert tagged("the very food was very bad .", "the food was bad .") == ["-very", "-very"]
    assert tagged("it was good", "it was good .", " .") == ["+(.)END"]
    assert tagged("it is good .", "it is not good .", " not") == ["+(not)good"]
    assert tagged("it is good .", "it is good .") == []


def test_golden_swapped_sentences() -> None:
    source = "he came home at last . it was raining in london ."
    target = "because it was raining in london , he came home at last ."
    assert tagged(source, target, " because", " ,") == ["<>.", "+(because)it", "+(,)-."]
    natural = "he came home at last. it was raining in london."
    assert tagged(natural, "it was raining in london, he came home at last.", ",") == ["<>.", "+(,)-."]


def test_golden_text_that_is_not_tokenised() -> None:
    assert tagged("The food was great!", "The food was bad!", " bad") == ["+(bad)-great"]
    assert tagged("I can't (really) say.", "I can't say.") == ["-(", "-really", "-)"]
    assert tagged("she left the u.s. in may .", "she left the u.s. .") == ["-in", "-may"]


def test_what_the_phrases_do_not_cover_has_no_tags() -> None:
    assert tagged("the food was terrible .", "the food was great .", " good", "great") is None
    assert tagged("the food was terrible .", "the great food was great .", " great food") is None


def test_two_sentences_and_where_the_first_ends() -> None:
    assert middle(tokens(CURIE)) == 6
    assert middle(tokens("she left the u.s. in may . he did not .")) == 7
    assert middle(tokens("He went. She left.")) == 2
    assert middle(tokens("one sentence only .")) is None
    assert middle(tokens("one . two . three .")) is None
    assert middle([]) is None


def test_a_swap_may_add_words_where_the_first_sentence_begins_now() -> None:
    source = tokens("a b . c d .")
    tags = [Tag(Op.KEEP, " so"), KEEP, SWAP, Tag(Op.KEEP, " since"), KEEP, DELETE, Tag(Op.KEEP, " !")]
    assert realise(source, tags) == "since c d so a b . !"


def test_words_never_run_into_each_other() -> None:
    assert realise(tokens("it (really) works"), [KEEP, DELETE, KEEP, DELETE, KEEP, KEEP]) == "it really works"
    assert realise(tokens("was great!"), [KEEP, DELETE, KEEP, KEEP]) == "was!"


def test_white_space_stays_between_words_that_stay_together() -> None:
    source, gaps = tokens("a b c d"), ["", "  ", "\t", " \n"]
    assert realise(source, [KEEP] * 5, gaps) == "a  b\tc \nd"
    assert realise(source, [KEEP, DELETE, KEEP, KEEP, KEEP], gaps) == "a c \nd"
    assert realise(source, [Tag(Op.KEEP, " x"), KEEP, Tag(Op.DELETE, " y"), KEEP, KEEP], gaps) == "x a  b y d"


def test_the_phrases_of_most_pairs_are_chosen() -> None:
    pairs = [("a b", "a x b x"), ("a c", "a y c"), ("b c", "b y c"), ("b", "b b b"), ("b", "b z"), ("b", "b")]
    alignments = [align(tokens(a), tokens(b)) for a, b in pairs]
    assert phrase_vocabulary(alignments, 2) == [" y", " b b"]
    assert len(phrase_vocabulary(alignments, 99)) == 4
    assert phrase_vocabulary(alignments, 0) == []


def test_a_swapped_alignment_is_preferred_where_it_adds_less() -> None:
    ways = align(tokens("he came home . it was raining ."), tokens("it was raining , he came home ."))
    assert [way.added for way in ways] == [1, 4]
    assert ways[0].tags[3] == SWAP
    ways = align(tokens("he came home . it was raining ."), tokens("it was raining and he came home !"))
    assert len(ways) == 1  # a swap keeps the full stop
    assert SWAP not in ways[0].tags


WORD = st.sampled_from(["a", "b", "c", "d", ".", "!", "u.s.", "don't", "(a)", "b.", '"c', "'s", "Ä"])
TEXT = st.lists(WORD, max_size=12).map(" ".join)


@given(TEXT, TEXT)
def test_all_pairs_round_trip_with_the_phrases_they_add(source: str, target: str) -> None:
    split = tokens(source)
    ways = align(split, tokens(target))
    tags = TagSet(phrase_vocabulary([ways], 100))
    numbers = tags.convert(split, tokens(target))
    if not any(tag.op == Op.SWAP and tag.phrase for tag in ways[0].tags):  # such a tag does not exist
        assert numbers is not None
    if numbers is not None:
        assert len(numbers) == len(split) + 1
        assert realise(split, [tags.tags[n] for n in numbers]) == target


@given(TEXT)
def test_tokens_are_the_text(text: str) -> None:
    assert "".join(tokens(text)).strip() == text
    assert not any(map(str.isspace, "".join(token[1:] for token in tokens(text))))
