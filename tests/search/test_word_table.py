import numpy as np
from conftest import FIGURE_1, make_model, make_task

from masker.core.spans import Span
from masker.search.edited import Edited
from masker.search.word_table import WordTable


def test_the_likelihood_of_words_leaves_out_that_of_their_number(family: str) -> None:
    task = make_task(make_model(family), batch_tokens=100)
    texts = [task.vocabulary.read(text) for text in (FIGURE_1, "The food was terrible, and we don't like it!")]
    words = [
        [i for i in range(len(text.words)) if text.bounds[i + 1] - text.bounds[i] <= task.frame.n_p] for text in texts
    ]
    whole = Edited(task.vocabulary, [(text, (), {}) for text in texts])
    flat = [start + i for start, some in zip(whole.starts.tolist(), words, strict=True) for i in some]
    table = WordTable(task, whole, np.array(flat))
    sheet = task.table(texts, [[Span(i, i + 1) for i in some] for some in words])
    sheet.ask()
    log_p, log_L2 = table.log_p(task.target), np.concatenate([sheet.scores(k).log_L2 for k in range(len(texts))])
    sizes = np.array([len(text.words[i].pieces) for text, some in zip(texts, words, strict=True) for i in some])
    full = sizes == task.frame.n_p
    np.testing.assert_allclose(log_p[full], log_L2[full], atol=1e-4)
    assert (log_p[~full] > log_L2[~full]).all()
    some = np.array([3, 0, 5])
    np.testing.assert_allclose(table.log_p(task.target, some), log_p[some], atol=1e-4)
