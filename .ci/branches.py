"""How many branches of a room the tests have gone through, and an error where they are too few.

For example, after `pytest --cov`: python .ci/branches.py masker/core 95
"""

import json
import subprocess
import sys

room, floor = sys.argv[1], float(sys.argv[2])
command = [sys.executable, "-m", "coverage", "json", "--quiet", f"--include={room}/*", "-o", "-"]
report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
total = report["totals"]
share = 100 * total["covered_branches"] / total["num_branches"]
print(
    f"{room}: {share:.1f} % of {total['num_branches']} branches are tested, {total['percent_covered']:.1f} % with lines"
)
if share < floor:
    for name, file in report["files"].items():
        for start, stop in file["missing_branches"]:
            print(f"  {name}:{start} never goes to {'the end' if stop < 0 else stop}")
    sys.exit(f"at least {floor:g} % of the branches of {room} must be tested")
