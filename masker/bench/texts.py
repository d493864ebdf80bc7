"""Texts to time: Yelp's where they are, made-up ones otherwise, and some as people write them."""

import os
import random
from pathlib import Path

from masker.errors import check_whole

_FOODS = ("food", "service", "soup", "bread", "staff", "waiter", "coffee", "room", "place", "pizza", "salad")
_VIEWS = [
    "terrible",
    "great",
    "cold",
    "friendly",
    "slow",
    "fresh",
    "rude",
    "clean",
    "bland",
    "lovely",
    "awful",
    "cheap",
]
_MORE = ("and we will never come back", "but the {} was {}", "so i asked for my money back", "and my wife agreed", "")


def sample(count: int, seed: int = 0) -> list[str]:
    """Made-up reviews of about nine words, for when there is no file."""
    rng = random.Random(seed)

    def clause() -> str:
        return f"the {rng.choice(_FOODS)} was {rng.choice(['', 'really ', 'not '])}{rng.choice(_VIEWS)}"

    return [f"{clause()} {rng.choice(_MORE).format(rng.choice(_FOODS), rng.choice(_VIEWS))} .".replace("  ", " ")
            for _ in range(count)]  # fmt: skip


def default_texts(count: int) -> list[str]:
    """Negative lines of the Yelp test set, if MASKER_DATA says where it is; made-up ones otherwise."""
    check_whole(1, count=count)
    data = os.environ.get("MASKER_DATA")
    path = Path(data or ".") / "yelp" / "sentiment.test.0"
    if not data or not path.is_file():
        return sample(count)
    lines = path.read_text("utf-8").splitlines()
    return random.Random(0).sample(lines, min(count, len(lines)))


RAW = [  # 8 to 40 words
    "The soup was cold and our waiter rude.",
    "We waited an hour, and when the pizza finally came it was burnt.",
    "I bought this charger in May; it stopped working after two weeks, and nobody answers my emails!",
    "The rooms are tiny, the walls are so thin that you hear every word from next door, and breakfast was sad.",
    "My daughter's birthday dinner was ruined because they lost our booking, sat us next to the toilets, forgot two "
    "of the main courses and then charged us for all of them.",
    "I had read so many good things about this film, but the story makes no sense, the acting is wooden, the music "
    "never stops, and after almost three hours the ending comes out of nowhere and explains nothing at all.",
]
