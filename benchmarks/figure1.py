"""The Figure 1 sentence with a model of BERT-base's size, random weights: `python benchmarks/figure1.py --out FILE`."""

import argparse
import json
import tempfile
import time
from pathlib import Path

import torch
from transformers import AutoModelForMaskedLM, BertConfig

from masker import Masker, PaddedMLM
from masker.bench.naive import Naive
from masker.model.settings import Settings
from masker.runtime.export import export

TEXT = "marie curie was born in poland . she died in the france ."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    v = PaddedMLM.from_pretrained().vocabulary
    domains = dict(PaddedMLM.from_pretrained().settings.domains)
    torch.manual_seed(0)
    mlm = AutoModelForMaskedLM.from_config(BertConfig(vocab_size=len(v), pad_token_id=v.pad)).eval()
    with tempfile.TemporaryDirectory() as folder:
        PaddedMLM(mlm, v, Settings(domains=domains)).save_pretrained(folder)
        taken = {}
        masker = Masker.from_pretrained(folder, device="cpu", exact=True)
        export(folder)
        int8 = Masker.from_pretrained(folder, device="cpu")
        ways = {
            "naive": Naive(folder, "positive", batch=1).edit,
            "pruned": lambda texts: masker.edit(texts, "positive"),
            "int8": lambda texts: int8.edit(texts, "positive"),
        }
        for name, edit in ways.items():
            edit(["so ."])
            start = time.perf_counter()
            edit([TEXT])
            taken[name] = time.perf_counter() - start
    options.out.write_text(json.dumps(taken, indent=2) + "\n", "utf-8")
    print(taken)


if __name__ == "__main__":
    main()
