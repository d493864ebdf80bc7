"""The word n-gram judge: quick to fit, easy to explain, and blind in other places than a transformer."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from masker.data.checked import check_kind
from masker.errors import MaskerError
from masker.evaluation.judges.base import WEIGHTS, Judge, Labelled, OnStep, Training

VOCABULARY = "vocabulary.json"
_ANALYSIS: dict[str, Any] = {"ngram_range": (1, 3), "token_pattern": r"\S+", "lowercase": False}


class NgramJudge(Judge):
    """Logistic regression on the presence of word n-grams, n = 1 to 3, weighted by their inverse document frequency."""

    strengths = (0.01, 0.03, 0.1, 0.3)  # inverse regularisation; the best on the development lines is taken

    def __init__(self, vocabulary: list[str], weights: np.ndarray, bias: np.ndarray) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        self.vocabulary, self.weights, self.bias = vocabulary, weights, bias  # [V], [V, domains], [domains]
        self._vectorizer = CountVectorizer(vocabulary=vocabulary, binary=True, dtype=np.float32, **_ANALYSIS)

    @classmethod
    def _fit(
        cls, train: Labelled, dev: Labelled, domains: tuple[str, ...], training: Training, on_step: OnStep | None
    ) -> tuple[Judge, dict[str, Any]]:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression

        rare = 2 if len(train.texts) >= 1000 else 1
        vectorizer = TfidfVectorizer(binary=True, norm=None, min_df=rare, dtype=np.float32, **_ANALYSIS)
        features = vectorizer.fit_transform(train.texts)
        vocabulary = vectorizer.get_feature_names_out().tolist()
        fitted: list[tuple[float, float, NgramJudge]] = []
        for step, strength in enumerate(cls.strengths, 1):
            # Balanced, because corpora differ in size but texts to be judged come from any domain alike.
            model = LogisticRegression(C=strength, class_weight="balanced", max_iter=500, random_state=training.seed)
            model.fit(features, train.labels)
            weights, bias = model.coef_.T * vectorizer.idf_[:, None], model.intercept_  # idf is part of the weights now
            if len(domains) == 2:  # scikit-learn has one column for two domains: that of the second against the first
                weights, bias = np.hstack([0 * weights, weights]), np.array([0.0, bias[0]])
            judge = cls(vocabulary, weights.astype(np.float32), bias.astype(np.float32))
            fitted.append((dev.accuracy(judge._log_probs(dev.texts)), -strength, judge))
            if on_step:
                on_step(step, len(cls.strengths))
        _, negative, judge = max(fitted, key=lambda entry: entry[:2])
        return judge, {"strength": -negative, "ngrams": len(vocabulary), "seed": training.seed}

    @classmethod
    def _load(cls, folder: Path) -> Judge:
        from safetensors.numpy import load_file

        tensors, path = load_file(folder / WEIGHTS), folder / VOCABULARY
        vocabulary, weights, bias = json.loads(path.read_text("utf-8")), tensors["weights"], tensors["bias"]
        check_kind("the vocabulary", vocabulary, list[str], path)
        if weights.shape != (len(vocabulary), *bias.shape) or bias.ndim != 1 or not np.isfinite(weights).all():
            raise MaskerError(f"{path} and {WEIGHTS} do not belong together; fit the judge again")
        if len({*vocabulary}) != len(vocabulary):
            raise MaskerError(f"{path} has an n-gram twice; fit the judge again")
        return cls(vocabulary, weights, bias)

    def _save(self, folder: Path) -> None:
        from safetensors.numpy import save_file

        (folder / VOCABULARY).write_text(json.dumps(self.vocabulary, ensure_ascii=False), "utf-8")
        save_file({"weights": np.ascontiguousarray(self.weights), "bias": self.bias}, folder / WEIGHTS)

    def _log_probs(self, texts: list[str]) -> np.ndarray:
        logits = self._vectorizer.transform(texts) @ self.weights.astype(np.float64) + self.bias  # [n, domains]
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
