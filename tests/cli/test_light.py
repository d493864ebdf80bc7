"""What `pip install masker-nlp` brings is enough for `edit`, `explain` and `info`; other verbs say what they need."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "transformers", "accelerate", "sklearn", "scipy", "sacrebleu", "onnx", "onnxscript", "matplotlib")

CODE = """
import sys
import masker
assert "numpy" not in sys.modules, "import masker should be quick"
{absent}
from masker.cli import main
sys.argv = ["masker", *{arguments}]
try:
    main()
finally:
    heavy = [name for name in {heavy} if sys.modules.get(name)]
    assert not heavy, heavy
"""

ABSENT = """
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {heavy}:
            raise ModuleNotFoundError(f"No module named '{{name}}'", name=name)
sys.meta_path.insert(0, Absent())
"""


def run(
    *arguments: str, stdin: str = "", absent: bool = False, cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """A process of its own, with or without the heavy packages; it may import none of them."""
    code = CODE.format(absent=ABSENT.format(heavy=HEAVY) if absent else "", arguments=arguments, heavy=HEAVY)
    command = [sys.executable, "-c", code]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=cwd, check=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["edit", "--to", "positive", "--device", "cpu"], "the best pizza i have ever had ."),
        (["edit", "--to", "positive", "--device", "cpu", "--method", "paper"], "the best pizza i have ever had ."),
        (["explain", "Best coffee in town!", "--to", "negative", "--device", "cpu"], "{+Worst+}"),
        (["fix", "-", "--to", "positive", "--device", "cpu"], "+the best pizza i have ever had ."),
        (["info"], "22.7M parameters"),
    ],
)
def test_nothing_heavy_is_imported(arguments: list[str], said: str) -> None:
    result = run(*arguments, stdin="the worst pizza i have ever had .\n")
    assert result.returncode == 0, result.stderr
    assert said in result.stdout


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["fit", "--domain", "a=negative.txt", "--domain", "b=positive.txt", "--out", "out"], "train"),
        (["pretrain", "negative.txt", "--out", "out"], "train"),
        (["tune", "--model", "m", "--domain", "a=negative.txt"], "train"),
        (["distill", "--student", "lasertagger", "--silver", "pairs.tsv", "--out", "out"], "train"),
        (["evaluate", "--source", "negative.txt", "--output", "negative.txt", "--to", "positive"], "train"),
        (["export", "m"], "onnx"),
    ],
)
def test_other_verbs_say_which_extra_they_need(arguments: list[str], extra: str, here: Path) -> None:
    (here / "pairs.tsv").write_text("it was bad .\tit was good .\n" * 20)
    result = run(*arguments, absent=True, cwd=here)
    assert result.returncode == 2
    said = f"masker: masker {arguments[0]} needs packages that are not installed; pip install 'masker-nlp[{extra}]'\n"
    assert result.stderr == said
