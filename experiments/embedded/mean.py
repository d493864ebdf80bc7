"""The mean of several critics of one model, as one of the same rank: `python mean.py CRITIC CRITIC ... --out CRITIC`.

Critics that have learnt from somewhat different ratings are wrong in different places. Their weights have come from the
same model, so that they can be averaged; a singular value decomposition brings the mean back to their rank.
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from masker.model.critic import DOWN, HEAD, SCALE, UP, narrow
from masker.model.folder import CRITIC_CARD, PLAIN


def change(weights: dict[str, np.ndarray], name: str) -> np.ndarray:
    """What a critic adds to a weight."""
    up, down, scale = (weights[name + part].astype(np.float32) for part in (UP, DOWN, SCALE))
    return np.asarray((up * scale) @ down)


def mean(critics: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    first = critics[0]
    found = {name: np.mean([c[name] for c in critics], 0, np.float32) for name in first if name.startswith(HEAD)}
    for name in (name.removesuffix(UP) for name in first if name.endswith(UP)):
        rank = first[name + UP].shape[1]
        u, s, v = np.linalg.svd(np.mean([change(c, name) for c in critics], 0), full_matrices=False)
        root = np.sqrt(s[:rank])
        found |= {name + part: array for part, array in narrow(u[:, :rank] * root, root[:, None] * v[:rank]).items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("critics", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    found = mean([load_file(folder / PLAIN) for folder in options.critics])
    options.out.mkdir(parents=True, exist_ok=True)
    save_file(found, options.out / PLAIN)
    shutil.copy(options.critics[0] / CRITIC_CARD, options.out)


if __name__ == "__main__":
    main()
