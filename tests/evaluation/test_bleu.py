import math
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from masker.errors import MaskerError
from masker.evaluation.bleu import bleu, bleu_signature
from masker.evaluation.paper_bleu import paper_bleu, read_dictionary, sentence_paper_bleu
from masker.evaluation.tally import resampling

OUTPUTS = ["the cat sat on the mat .", "a dog", "", "it is n't very good either ."]
REFERENCES = [
    ["the cat sat on a mat .", "a dog barks", "yes", "it is very good ."],
    ["the cat is on the mat .", "dogs bark .", "yes yes", "it is n't good either ."],
]
WORDS = {word: i for i, word in enumerate(["a", "b", "c", "d", "e"])}


def test_every_resample_is_sacrebleu_on_the_resampled_corpus() -> None:
    weights = resampling(len(OUTPUTS))[:20]
    for row, figure in zip(weights, bleu(OUTPUTS, REFERENCES).figures(weights), strict=True):
        lines = np.repeat(np.arange(len(OUTPUTS)), row.astype(int))
        references = [[reference[i] for i in lines] for reference in REFERENCES]
        expected = sacrebleu.corpus_bleu([OUTPUTS[i] for i in lines], references, tokenize="none", force=True)
        assert figure == pytest.approx(expected.score)


def test_signature_names_references_and_tokenisation(capsys: pytest.CaptureFixture[str]) -> None:
    signature = bleu_signature(OUTPUTS * 200, [reference * 200 for reference in REFERENCES])
    assert "nrefs:2" in signature
    assert "tok:none" in signature
    assert "tokenized period" not in capsys.readouterr().err


def test_paper_bleu_by_hand() -> None:
    # 3 of 4 words, 2 of 3 bigrams, 1 of 2 trigrams, no 4-gram; c = 4 > r = |4 - 4|, so no penalty
    expected = math.exp((math.log(3 / 4) + math.log(2 / 3) + math.log(1 / 2) + math.log(1e-9)) / 4)
    assert sentence_paper_bleu("a b c d", "a b c e", dictionary=WORDS) == pytest.approx(expected, rel=1e-6)


def test_paper_bleu_drops_unknown_words_and_skips_orders_without_ngrams() -> None:
    # "B" and "b." are not in the dictionary: what remains is "a" against "a"
    assert sentence_paper_bleu("a B", "a  b.", dictionary=WORDS) == 1
    assert sentence_paper_bleu("B", "a", dictionary=WORDS) == 0


def test_paper_bleu_penalises_by_the_difference_of_lengths() -> None:
    # c = 1 and r = |4 - 1| = 3
    assert sentence_paper_bleu("a", "a b c d", dictionary=WORDS) == pytest.approx(math.exp(1 - 3))


def test_lines_with_the_same_source_overwrite_each_other() -> None:
    tally = paper_bleu(["x", "y", "x"], ["b", "a", "a"], ["a", "a", "a"], dictionary=WORDS)
    assert tally.figures(np.ones((1, 3)))[0] == pytest.approx(100)


def test_dictionary_with_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("a\t0\nb 1\n")
    with pytest.raises(MaskerError, match="line 2"):
        read_dictionary(path)
