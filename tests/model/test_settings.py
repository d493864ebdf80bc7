import pytest

from masker.errors import MaskerError
from masker.model.settings import Settings


def test_sentences_are_the_unit_unless_the_domains_differ_in_them() -> None:
    shape = {
        "split": {"sentences": 2.0, "words": 14.7},
        "fused": {"sentences": 1.3, "words": 23.1},
        "tale": {"sentences": 9.0, "words": 15.0},
    }
    settings = Settings(shape=shape)
    assert not settings.by_sentence("split", "fused")
    assert settings.by_sentence("split", "tale")  # just longer
    assert settings.by_sentence("tale")
    assert not settings.by_sentence("split", "unknown")
    with pytest.raises(MaskerError, match="needs sentences and words"):
        Settings(shape={"split": {"sentences": 2.0}})


def test_only_known_domains_are_never_written_to() -> None:
    domains: dict[str, str | None] = {"toxic": "civil", "civil": "toxic"}
    assert Settings.from_dict({"format": 1, "domains": domains, "sources_only": ["toxic"]}).sources_only == ["toxic"]
    with pytest.raises(MaskerError, match=r"unknown domain 'toxik'.*did you mean 'toxic'"):
        Settings(domains=domains, sources_only=["toxik"])
