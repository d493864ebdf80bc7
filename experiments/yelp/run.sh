#!/usr/bin/env bash
# The whole table, in order; what is finished is skipped, so delete what is to be made again.
#   experiments/yelp/run.sh          with the embedded model: predictions/masker_paper.0.txt ...
#   experiments/yelp/run.sh fit      makes the embedded model first, with experiments/embedded/make.sh; needs a GPU
#   experiments/yelp/run.sh FOLDER   with another model: predictions/masker_FOLDER_paper.0.txt ...
# Needs MASKER_DATA, and for the transformer judge the folder `minilm`, as make.sh does.
set -eu
data=${MASKER_DATA:?set MASKER_DATA to the data folder}
here=experiments/yelp
lines=runs/yelp
dev=(--dev "negative=$data/yelp/sentiment.dev.0" --dev "positive=$data/yelp/sentiment.dev.1")

folder=masker/model/embedded model=() name=masker
case ${1:-} in
  "") ;;
  fit) [ -e runs/embedded/masker.json ] || experiments/embedded/make.sh ;;
  *) folder=$1 model=(--model "$1") name=masker_$(basename "$1") ;;
esac

# 1. Three quarters of the training lines for Masker, one quarter for what measures it
[ -e $lines/positive.judge.txt ] || python $here/split.py "$data" $lines

# 2. Two judges of style and a language model
judge() {
  [ -e "judges/$1/judge.json" ] || masker judge fit --kind "$@" "${dev[@]}" --out "judges/$1" \
    --domain negative=$lines/negative.judge.txt --domain positive=$lines/positive.judge.txt
}
judge ngram
judge transformer --base minilm
[ -e judges/lm/ngram_lm.json ] || masker judge lm $lines/{negative,positive}.judge.txt --out judges/lm

# 3. The test set in both directions, by each method
edit() {
  local out=$here/predictions/${name}_$1 test=$data/yelp/sentiment.test
  shift
  [ -e "$out.0.txt" ] || masker edit "$test.0" --to positive --out "$out.0.txt" "${model[@]}" "$@"
  [ -e "$out.1.txt" ] || masker edit "$test.1" --to negative --out "$out.1.txt" "${model[@]}" "$@"
}
edit paper --method paper
edit ablation --method paper --no-source-score
if [ -e "$folder/style.safetensors" ]; then edit search --method search; fi  # it needs the style classifier
if [ -e "$folder/student/student.json" ]; then edit fast --method fast && edit auto --method auto; fi

# 4. Everything scored: results.json, RESULTS.md and leaderboard.png
python $here/leaderboard.py --data "$data" --judge judges/transformer --judge judges/ngram --fluency-model judges/lm \
  --predictions $here/predictions --out $here
