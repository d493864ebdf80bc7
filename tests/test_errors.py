import math

import pytest

from masker.errors import MaskerError, check_number, check_whole, missing, unknown

DOMAINS = ["negative", "positive", "split", "fused"]


@pytest.mark.parametrize(
    ("name", "meant"), [("positve", "positive"), ("POSITIVE", "positive"), ("fuse", "fused"), ("splitt", "split")]
)
def test_a_misspelt_name_is_recognised(name: str, meant: str) -> None:
    error = unknown("domain", name, DOMAINS)
    assert isinstance(error, MaskerError)
    assert str(error) == (
        f"unknown domain '{name}'; known: negative, positive, split, fused; did you mean '{meant}'?"
    )  # fmt: skip


@pytest.mark.parametrize("name", ["happy", "x", "", "native speakers"])
def test_nothing_is_suggested_where_nothing_is_close(name: str) -> None:
    assert str(unknown("domain", name, DOMAINS)).endswith("known: negative, positive, split, fused")


def test_names_that_differ_in_case_only_are_all_listed() -> None:
    assert str(unknown("column", "TEXT", ["Text", "text"])).startswith("unknown column 'TEXT'; known: Text, text")
    assert str(unknown("column", "text", [])) == "unknown column 'text'; known: none"


def test_a_missing_package_is_named_by_its_extra() -> None:
    error = missing("train", "fitting a model")
    assert isinstance(error, MaskerError)
    assert str(error) == "fitting a model needs packages that are not installed; pip install 'masker-nlp[train]'"


def test_numbers_have_bounds() -> None:
    check_whole(1, top=2**31 - 1)
    check_number(least=-math.inf)
    with pytest.raises(MaskerError, match=r"^`top` is 2147483648: need at most 2147483647$"):
        check_whole(1, top=2**31)
    with pytest.raises(MaskerError, match=r"^`bias` is -inf: it is a finite number$"):
        check_number(finite=True, bias=-math.inf)
