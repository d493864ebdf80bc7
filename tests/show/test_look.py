from rich.console import Console

from masker.data.inspection import look
from masker.show.look import look_table


def test_a_table_of_what_was_seen() -> None:
    corpora = {
        "bad": [f"it was bad [b] number {k % 90} ." for k in range(100)],
        "good": [f"It was good number {k}!" for k in range(100)],
    }
    console = Console(width=100)
    with console.capture() as captured:
        console.print(look_table(look(corpora)))
    shown = captured.get()
    for told in ("100 (10 copies)", "lower case, tokenised", "capitals, raw", "right on 100.0% of 180 held-out lines",
                 "speak for bad", "lines in both"):  # fmt: skip
        assert told in shown, told
    assert "[" in shown.split("speak for bad")[1]  # words are no markup
