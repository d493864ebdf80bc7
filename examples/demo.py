"""`make demo`: the embedded model rewrites a few sentences, and explains one of them."""

from rich.console import Console

from masker import Masker

EXAMPLES = [
    ("the worst pizza i have ever had .", "positive"),
    ("Our waitress was slow and the soup was bland.", "positive"),
    ("The film won the award. The film was shot in Rome.", "fused"),
    ("Best coffee in town!", "negative"),
    ("The staff is so friendly and the food is always fresh.", "negative"),
    ("We will definitely be back.", "negative"),
]


def main() -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)
    masker = Masker.from_pretrained()
    for text, to in EXAMPLES:
        rewrite = masker.edit(text, to=to)
        console.print(f"[dim]to {to}, score {rewrite.score:.2f}[/]  ", end="", highlight=False)
        console.print(rewrite if console.is_terminal else rewrite.diff(), soft_wrap=True, markup=False, highlight=False)

    text, to = EXAMPLES[3]
    console.print(f"\nWhy? Every span of [bold]{text}[/] with the likelihoods L1..L4 that the domains give it:\n")
    console.print(masker.explain(text, to=to, method="paper"))
    console.print("\nNext: [bold].venv/bin/masker --help[/], or the README.")


if __name__ == "__main__":
    main()
