#!/usr/bin/env bash
# The paper's protocol at the paper's scale: pretrain an encoder of base size on plain text, fit it to the Yelp lines
# by the paper's settings, edit the test set with it, score everything. About 10 minutes on an H200.
# Needs MASKER_DATA, a GPU, and the folder `mpnet`: MPNet-base as in all-mpnet-base-v2 (config.json, model.safetensors,
# tokenizer.json, tokenizer_config.json). What is finished is skipped, so delete what is to be made again.
set -eu
data=${MASKER_DATA:?set MASKER_DATA to the data folder}
lines=runs/yelp
[ -e $lines/positive.judge.txt ] || python experiments/yelp/split.py "$data" $lines

[ -e runs/text.0.txt ] || xz -dc "$data"/pretrain/text.0.txt.xz | head -n 110000 >runs/text.0.txt
[ -e runs/base_pretrained/masker.json ] || masker pretrain runs/text.0.txt \
  --licence "Wikipedia CC BY-SA, public-domain books, IMDB" --base mpnet --out runs/base_pretrained \
  --steps 260 --batch-size 512 --lr 1.5e-4 --dropout 0 --eval-every 260 --workers 8

# the paper's rate and batch, and what the search editor needs besides
[ -e runs/base/masker.json ] || masker fit --no-report --base runs/base_pretrained --out runs/base --workers 7 --patience 100 \
  --domain negative=$lines/negative.editor.txt --domain positive=$lines/positive.editor.txt \
  --licence "negative=Yelp reviews" --licence "positive=Yelp reviews" --lr 3e-5 --batch-size 2048 --steps 3000 --eval-every 750
rated=experiments/reading
[ -e runs/base/critic ] || masker critic $rated/critic/rated{,2}.jsonl.xz $rated/drafts/rated.jsonl.xz \
  --model runs/base --epochs 7 --batch-size 128 --lr 1e-3

python - <<'PYTHON'
import json
from pathlib import Path

made = json.loads(Path("runs/base/masker.json").read_text("utf-8"))["made"]
Path("experiments/yelp/base.json").write_text(json.dumps({"base": made}, indent=1) + "\n", "utf-8")
PYTHON

experiments/yelp/run.sh runs/base
