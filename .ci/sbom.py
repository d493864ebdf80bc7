"""The bill of materials that the wheel carries: what `pip install masker-nlp` brings, in the versions that are tested.

For example: python .ci/sbom.py > masker-nlp.cdx.json (CycloneDX 1.6). Versions are from constraints.txt; licences, and
what depends on what, are read from the packages that are installed. It has no date: the same pins give the same bytes.
"""

import json
import re
import tomllib
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
}
# what there is elsewhere only, such as colorama, is not installed here and has no part in it
LINUX = {"extra": "", "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "python_version": "3.11"}


def wanted(name: str) -> list[str]:
    """The packages that one asks for, without its extras."""
    asked = PROJECT["dependencies"] if name == PROJECT["name"] else metadata.requires(name) or ()
    found = map(Requirement, asked)
    return sorted({canonicalize_name(r.name) for r in found if r.marker is None or r.marker.evaluate(LINUX)})


def licences(name: str) -> list[dict[str, Any]]:
    """As an SPDX expression where the package gives one, else by the name it gives."""
    if name == PROJECT["name"]:
        return [{"expression": PROJECT["license"]}]
    about = metadata.metadata(name)
    if expression := about.get("License-Expression"):
        return [{"expression": expression}]
    kinds = [kind.rpartition(" :: ")[2] for kind in about.get_all("Classifier", []) if kind.startswith("License ::")]
    short = [line for line in (about.get("License") or "").splitlines()[:1] if len(line) < 60]
    return [{"license": {"name": kind}} for kind in kinds or short]


def component(name: str) -> dict[str, Any]:
    version = PINS[name]
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "licenses": licences(name),
    }


def bill() -> dict[str, Any]:
    """CycloneDX: the package, what it brings, and who asks for what."""
    version = re.findall(r'__version__ = "(.+?)"', (ROOT / "masker/__init__.py").read_text("utf-8"))[0]
    own = PROJECT["name"]
    PINS[own] = version
    asks = {own: wanted(own)}
    while new := {name for names in asks.values() for name in names} - asks.keys():
        asks |= {name: wanted(name) for name in new}
    listed = [component(name) for name in sorted(asks) if name != own]
    refs = {name: f"pkg:pypi/{name}@{PINS[name]}" for name in asks}
    content = {
        "metadata": {"component": component(own)},
        "components": listed,
        "dependencies": [
            {"ref": refs[name], "dependsOn": [refs[other] for other in asks[name]]} for name in sorted(asks)
        ],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content))
    kind = {"bomFormat": "CycloneDX", "specVersion": "1.6"}
    return {**kind, "serialNumber": f"urn:uuid:{number}", "version": 1, **content}


if __name__ == "__main__":
    print(json.dumps(bill(), indent=1))
