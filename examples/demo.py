"""`make demo`: the embedded model rewrites a few sentences, and explains one of them."""

from rich.console import Console

from masker import Masker

EXAMPLES = [
    ("the food was terrible .", "positive"),
    ("I would never recommend this place to anyone!", "positive"),
    ("The waiter was rude and the soup was cold.", "positive"),
    ("i love this place , the service is always great !", "negative"),
    ("Best tacos in town, and the staff is so friendly.", "negative"),
    ("Will definitely come back!", "negative"),
]


def main() -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)
    masker = Masker.from_pretrained()
    for text, to in EXAMPLES:
        rewrite = masker.edit(text, to=to)
        console.print(f"[dim]to {to:8}[/]  ", end="")
        console.print(str(rewrite) if not console.is_terminal else rewrite, soft_wrap=True, markup=False)
        console.print(f"[dim]{'':13}Score {rewrite.score:.3f}[/]  {rewrite.text}", soft_wrap=True)

    text, to = EXAMPLES[0]
    console.print(f"\nWhy? Every span of [bold]{text}[/] with the likelihoods L1..L4 that the two domains give it:\n")
    console.print(masker.explain(text, to=to))
    console.print("\nNext: [bold].venv/bin/masker --help[/], or the README.")


if __name__ == "__main__":
    main()
