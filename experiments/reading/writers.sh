#!/usr/bin/env bash
# Two writers for `masker edit --writer`, of 135M parameters each: causal LMs that have learnt from what the package's default
# makes of all reviews of the editor's share. One learns its surest rewrites; the other learns backwards, to write the person's
# sentence where it reads the rewrite. Needs MASKER_DATA, a GPU (an hour, nearly all of it the rewriting, which can be shared
# out to many processes) and SmolLM2-135M as the folder or Hugging Face id BASE.
set -eu
data=${MASKER_DATA:?set MASKER_DATA to the data folder} base=${BASE:-HuggingFaceTB/SmolLM2-135M}
lines=runs/yelp out=runs/writers
mkdir -p $out
[ -e $lines/positive.judge.txt ] || python experiments/yelp/split.py "$data" $lines

silver() { # from to
  masker silver "$lines/$1.editor.txt" --from "$1" --to "$2" --synthetic target --min-confidence 0.75 --out "$out/forward.$2.tsv" --resume
  masker silver "$lines/$1.editor.txt" --from "$1" --to "$2" --reverse --min-confidence 0.4 --out "$out/reverse.$1.tsv" --resume
}
silver negative positive
silver positive negative

writer() { # name
  masker distill --student lm --base "$base" --silver "$out/$1.positive.tsv" --silver "$out/$1.negative.tsv" --out "$out/$1" \
    --epochs 2 --batch-size 256 --lr 3e-4 --max-length 64 --patience 100 --eval-every 400
}
writer forward
writer reverse
for to in positive negative; do
  n=0; [ $to = positive ] || n=1
  masker edit "$data/yelp/sentiment.test.$n" --to $to --writer $out/forward --writer $out/reverse --out $out/test.$n.txt
done
