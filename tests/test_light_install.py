"""The wheel alone, in an environment of its own, does what the README's quick start shows."""

import json
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from installed import ROOT, Installed, build, interpreter, lowest

LIMIT_MB = {"wheel": 46, "installed": 300}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("light"), wheel)


@pytest.mark.slow
def test_torch_is_not_there(installed: Installed) -> None:
    heavy = ("torch", "transformers", "sklearn", "scipy", "onnx")
    code = f"from importlib.util import find_spec; print([name for name in {heavy} if find_spec(name)])"
    assert installed.run("python", "-c", code) == "[]\n"


def quick_start(installed: Installed) -> None:
    """The README's first commands, and the same in Python."""
    shown = re.findall(r'\$ echo "(.*?)" \| masker edit --to positive\n(.*)', (ROOT / "README.md").read_text("utf-8"))
    assert shown
    for source, text in shown:
        assert installed.run("masker", "edit", "--to", "positive", stdin=source + "\n") == text + "\n"
    assert "{+Worst+}" in installed.run("masker", "explain", "Best coffee in town!", "--to", "negative")
    assert "negative (from positive)" in installed.run("masker", "info")
    code = "from masker import Masker; print(Masker.from_pretrained().edit('the worst pizza .', to='positive').text)"
    assert installed.run("python", "-c", code) == "the best pizza .\n"


@pytest.mark.slow
def test_the_quick_start(installed: Installed) -> None:
    quick_start(installed)


@pytest.mark.slow
def test_the_quick_start_with_the_oldest_packages_that_are_allowed(wheel: Path, tmp_path: Path) -> None:
    if (python := interpreter("3.11")) is None:
        pytest.skip("there is no Python 3.11 here, which has all of these")
    quick_start(Installed(tmp_path, wheel, python=python, constraints=lowest(tmp_path)))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_the_quick_start_with_other_pythons(wheel: Path, tmp_path: Path, version: str) -> None:
    if (python := interpreter(version)) is None:
        pytest.skip(f"there is no Python {version} here")
    quick_start(Installed(tmp_path, wheel, python=python))


@pytest.mark.slow
def test_it_carries_its_bill_of_materials(installed: Installed) -> None:
    """Nothing is installed with it that the bill does not name, in the version that it names."""
    with zipfile.ZipFile(installed.wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/sboms/masker-nlp.cdx.json")]
        bill = json.loads(archive.read(name))
    listed = {part["name"]: part["version"] for part in (*bill["components"], bill["metadata"]["component"])}
    found = json.loads(installed.run("python", "-m", "pip", "list", "--format=json", "--disable-pip-version-check"))
    there = {part["name"].lower().replace("_", "-"): part["version"] for part in found}
    assert listed == {name: version for name, version in there.items() if name not in ("pip", "setuptools")}


@pytest.mark.slow
def test_it_is_small(installed: Installed) -> None:
    assert installed.wheel.stat().st_size <= LIMIT_MB["wheel"] * 1e6
    (packages,) = installed.bin.parent.glob("lib/python*/site-packages")
    tools = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    files = [p for p in packages.rglob("*") if p.is_file() and not p.relative_to(packages).parts[0].startswith(tools)]
    assert sum(path.stat().st_size for path in files) <= LIMIT_MB["installed"] * 1e6


def test_tracked_files_are_small() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git repository")
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    assert sum(path.stat().st_size for path in files if path.is_file()) < 44 * 2**20
