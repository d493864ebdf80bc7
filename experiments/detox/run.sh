#!/usr/bin/env bash
# Rude to civil, by the embedded model: splits the comments, trains what measures, edits the 2,000 test lines, scores them
# beside two published systems'. What is finished is skipped, so delete what is to be made again. Needs MASKER_DATA, and for
# the transformer judge the folder `minilm`, as experiments/embedded/make.sh does.
set -eu
data=${MASKER_DATA:?set MASKER_DATA to the data folder}
here=experiments/detox lines=runs/detox judges=judges/detox

# 1. Three quarters of the training lines for Masker, one quarter for what measures it
[ -e $lines/civil.judge.txt ] || python $here/split.py "$data" $lines

# 2. Two judges of style and a language model
judge() {
  [ -e "$judges/$1/judge.json" ] || masker judge fit --kind "$@" --out "$judges/$1" \
    --domain toxic=$lines/toxic.judge.txt --domain civil=$lines/civil.judge.txt \
    --dev "toxic=$data/detox/dev.toxic.txt.gz" --dev "civil=$data/detox/dev.civil.txt.gz"
}
judge ngram
judge transformer --base minilm
[ -e $judges/lm/ngram_lm.json ] || masker judge lm $lines/{toxic,civil}.judge.txt --out $judges/lm

# 3. The test lines, by the default method
if [ ! -e $here/predictions/masker.jsonl.xz ]; then
  mkdir -p $here/predictions
  masker edit "$data/detox/test.toxic.txt.gz" --to civil --format jsonl --out $lines/masker.jsonl --workers 0
  python -c 'import json, sys
for line in sys.stdin:  # what each edit was is not kept
    print(json.dumps({key: value for key, value in json.loads(line).items() if key not in ("source", "from", "to", "edits")}))
' <$lines/masker.jsonl | xz -9 >$here/predictions/masker.jsonl.xz
fi

# 4. results.json and RESULTS.md
python $here/report.py --data "$data" --predictions $here/predictions/masker.jsonl.xz \
  --judge $judges/transformer --judge $judges/ngram --fluency-model $judges/lm --out $here
