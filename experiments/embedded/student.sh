#!/usr/bin/env bash
# Makes the student in the package, masker/model/embedded/student: the model rewrites all reviews that it was fitted to, by
# the method `search`, or `auto` once there is a student, and a tagger of four layers learns from what an n-gram judge of the
# same lines sees turned, and from pairs of comments. Needs MASKER_DATA and a GPU (50 minutes; the rewriting can be shared out
# to many processes).
set -eu
data=${MASKER_DATA:?set MASKER_DATA to the data folder} method=${1:-auto}
lines=runs/yelp out=runs/student.$method folder=masker/model/embedded/student
mkdir -p $out

[ -e $lines/positive.judge.txt ] || python experiments/yelp/split.py "$data" $lines
[ -e $out/judge/judge.json ] || masker judge fit --kind ngram --out $out/judge \
  --domain negative=$lines/negative.editor.txt --domain positive=$lines/positive.editor.txt \
  --dev "negative=$data/yelp/sentiment.dev.0" --dev "positive=$data/yelp/sentiment.dev.1"

silver() { # from to
  masker silver "$lines/$1.editor.txt" --from "$1" --to "$2" --method "$method" --synthetic target --judge $out/judge \
    --out "$out/$2.tsv" --report "$out/$2.json" --resume
}
silver negative positive
silver positive negative
python experiments/embedded/comments.py runs/detox/toxic.editor.txt runs/detox/civil.editor.txt --out $out/civil.tsv

masker distill --student lasertagger --silver $out/positive.tsv --silver $out/negative.tsv --silver $out/civil.tsv \
  --layers 4 --shared --keep-bias 0.3 --epochs 8 --batch-size 512 --lr 5e-4 --patience 100 --out $folder
python -c "
from masker import Student
Student.from_pretrained('$folder', exported=False).save_pretrained('$folder', packed=True)"
masker export $folder
