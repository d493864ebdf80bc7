"""Peak memory of `masker edit` against the number of lines: `python benchmarks/memory.py MODEL --out FILE`.

MODEL is a tiny model's folder; each size is edited in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CODE = """
import resource, sys
from masker import Masker
masker = Masker.from_pretrained(sys.argv[1], device="cpu")
with open(sys.argv[2]) as lines, open(sys.argv[2] + ".out", "w") as out:
    for rewrite in masker.edit_stream(map(str.strip, lines), sys.argv[3], method="paper"):
        out.write(rewrite.text + "\\n")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--to", default="positive")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines"
            path.write_text("".join(f"the food {k % 997} .\n" for k in range(size)), "utf-8")
            start = time.perf_counter()
            command = [sys.executable, "-c", CODE, options.model, str(path), options.to]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append({"lines": size, "peak_mb": float(done.stdout), "seconds": time.perf_counter() - start})
            print(rows[-1], flush=True)
    options.out.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
