"""The lower bounds of pyproject.toml as a constraints file: the oldest packages that Masker promises to work with.

For example: python .ci/lowest.py > lowest.txt && pip install -c lowest.txt -e '.[test]'
"""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
bounds = list(project["dependencies"])
for name, packages in project["optional-dependencies"].items():
    if name not in ("test", "dev", "docs", "mutation"):  # tools, whose versions do not matter to users
        bounds += packages
print("\n".join(bound.replace(">=", "==") for bound in bounds if ">=" in bound))
