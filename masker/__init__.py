"""Masker: unsupervised text style transfer with padded masked language models."""

from typing import TYPE_CHECKING, Any

from masker.errors import MaskerError

if TYPE_CHECKING:
    from masker.api import Explanation, Masker
    from masker.core.editing import Edit, Rewrite
    from masker.model.padded_mlm import PaddedMLM

__version__ = "0.1.0"
__all__ = ["Edit", "Explanation", "Masker", "MaskerError", "PaddedMLM", "Rewrite"]

_HOME = {
    "Edit": "core.editing",
    "Explanation": "api",
    "Masker": "api",
    "PaddedMLM": "model.padded_mlm",
    "Rewrite": "core.editing",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import masker` is quick."""
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"masker.{_HOME[name]}"), name)
    raise AttributeError(f"module 'masker' has no attribute '{name}'")
