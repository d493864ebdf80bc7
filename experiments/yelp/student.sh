#!/usr/bin/env bash
# LaserTagger on Masker's silver data: two students, one a direction, and their edits of the test set.
#   experiments/yelp/student.sh paper    predictions/masker_lasertagger_paper.0.txt ...
#   experiments/yelp/student.sh search   the same with the search editor as the teacher
#   experiments/yelp/student.sh paper 5000 cpu   of 5,000 reviews a side only, on this device
# Masker rewrites real reviews out of the lines that it was fitted to: the review is the input, the rewrite the target.
# A pair is kept if a judge that has read the same lines, and none of those of the judges that measure, sees the target
# domain in it. Needs MASKER_DATA. What is finished is skipped, so delete what is to be made again.
set -eu
data=${MASKER_DATA:?set MASKER_DATA to the data folder}
method=${1:?paper or search} count=${2:-40000} device=${3:+--device $3}
lines=runs/yelp out=runs/students/$method predictions=experiments/yelp/predictions/masker_lasertagger_$method
mkdir -p "$out"

[ -e $lines/positive.judge.txt ] || python experiments/yelp/split.py "$data" $lines
[ -e runs/students/judge/judge.json ] || masker judge fit --kind ngram --out runs/students/judge \
  --domain negative=$lines/negative.editor.txt --domain positive=$lines/positive.editor.txt \
  --dev "negative=$data/yelp/sentiment.dev.0" --dev "positive=$data/yelp/sentiment.dev.1"

student() { # 0 negative positive
  local silver=$out/$3.tsv folder=$out/$3
  [ -e "$out/$2.txt" ] || shuf -n "$count" --random-source=<(yes) "$lines/$2.editor.txt" >"$out/$2.txt"
  [ -e "$silver" ] || masker silver "$out/$2.txt" --from "$2" --to "$3" --method "$method" --synthetic target \
    --judge runs/students/judge --out "$silver" --report "$out/$3.silver.json" --resume $device
  [ -e "$folder/student.json" ] || masker distill --student lasertagger --silver "$silver" --out "$folder" $device
  masker edit "$data/yelp/sentiment.dev.$1" --model "$folder" --out "$out/dev.$1.txt" $device # to choose settings by
  masker edit "$data/yelp/sentiment.test.$1" --model "$folder" --out "$predictions.$1.txt" $device
}
student 0 negative positive &
other=$!
student 1 positive negative
wait $other
