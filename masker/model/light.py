"""A model without its network: all that Masker needs of one besides a runtime, read without torch and transformers."""

from dataclasses import dataclass
from pathlib import Path

from safetensors.numpy import load_file

from masker.core.vocabulary import Vocabulary
from masker.errors import MaskerError
from masker.model.bag_of_words import BagOfWords
from masker.model.folder import SETTINGS, STYLE, check_style, has_settings, one_line, read_config, read_settings
from masker.model.settings import Settings, WithDomains
from masker.model.tokenizer import FileTokenizer
from masker.model.weights import Weights


@dataclass
class LightModel(WithDomains):
    """A model folder as Masker sees it; its weights stay in the files until a runtime reads them."""

    folder: Path  # type: ignore[assignment]
    vocabulary: Vocabulary
    settings: Settings
    bag_of_words: BagOfWords | None = None

    @classmethod
    def read(cls, folder: Path) -> "LightModel":
        settings = read_settings(folder / SETTINGS) if has_settings(folder) else Settings()
        words = None
        style = folder / STYLE
        if settings.has_style and not style.is_file():
            raise MaskerError(
                f"the model {folder} was fitted with a style classifier, and lacks {STYLE}; copy it there"
            )
        if settings.domains and style.is_file():
            check_style(style, settings)
            with one_line(f"cannot read {style}"):
                words = BagOfWords.from_state(load_file(style))
        model = cls(folder, Vocabulary(FileTokenizer(folder)), settings, words)
        model.check_tokens(folder)
        return model

    @property
    def has_style(self) -> bool:
        return self.bag_of_words is not None  # they are fitted together

    @property
    def architecture(self) -> str:
        return str(read_config(self.folder)["model_type"])

    @property
    def size(self) -> int:
        return Weights(self.folder).size
