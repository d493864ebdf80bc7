"""Masker: unsupervised text style transfer with padded masked language models."""

from typing import TYPE_CHECKING, Any

from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.api import Masker
    from masker.core.edits import Edit, Rewrite
    from masker.core.explanation import Explanation
    from masker.data.documents import DocumentRewrite, Finding
    from masker.evaluation.judges.base import Judge
    from masker.evaluation.report import evaluate
    from masker.model.padded_mlm import PaddedMLM
    from masker.students.base import Student
    from masker.training.fit import fit
    from masker.training.settings import TrainSettings

__version__ = "0.1.0"
_HOME = {
    "DocumentRewrite": "data.documents",
    "Edit": "core.edits",
    "Explanation": "core.explanation",
    "Finding": "data.documents",
    "Judge": "evaluation.judges.base",
    "Masker": "api",
    "PaddedMLM": "model.padded_mlm",
    "Rewrite": "core.edits",
    "Student": "students.base",
    "TrainSettings": "training.settings",
    "evaluate": "evaluation.report",
    "fit": "training.fit",
}
__all__ = [
    "DocumentRewrite",
    "Edit",
    "Explanation",
    "Finding",
    "Judge",
    "Masker",
    "MaskerError",
    "PaddedMLM",
    "Rewrite",
    "Student",
    "TrainSettings",
    "evaluate",
    "fit",
]


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import masker` is quick."""
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"masker.{_HOME[name]}"), name)
    raise AttributeError(f"module 'masker' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
