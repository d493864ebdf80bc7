// What the page's JavaScript makes of texts, for a test that asks Python the same: JSON in, JSON out. Run by Node.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [site] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${site}/${name}.js`));
const { Model } = await load("model");
const { Vocabulary } = await load("vocabulary");
const { Table } = await load("packed");
const { placed } = await load("candidates");
const { passages } = await load("segments");
const { enumerateSpans, protectedWords } = await load("spans");

const told = JSON.parse(readFileSync(`${site}/model.json`, "utf8"));
const tokens = readFileSync(`${site}/vocabulary.txt`, "utf8").split("\n");
const vocabulary = new Vocabulary({ ...told.vocabulary, tokens });
const model = new Model(told, vocabulary, {});
const unit = told.tasks[0].unit;
const { texts, infills, keep, to, from } = JSON.parse(readFileSync(0, "utf8"));
const task = model.task({ to, from, keep }, true);

function result(text, span, infill, fixed) {
  const made = placed(task, text, span, infill, fixed);
  return made && text.source.slice(0, made.start) + made.new + text.source.slice(made.end);
}

const answers = texts.map((source) => {
  const text = vocabulary.read(source);
  const kept = task.keptIn(source);
  const spans = enumerateSpans(text, told.n_p, kept);
  const fixed = protectedWords(text, kept);
  return {
    words: text.words.map((_, i) => text.word(i)),
    pieces: text.words.map((word) => word.pieces),
    kept: kept.map(([start, end]) => source.slice(start, end)),
    spans: spans.map(({ start, stop }) => [start, stop]),
    parts: passages(task, source, unit).map((part) => [part.text.source, part.words.start, part.words.stop]),
    results: spans.map((span, k) => result(text, span, infills[k % infills.length], fixed)),
  };
});

const table = await Table.read(readFileSync(`${site}/embeddings.safetensors`).buffer, told.columns);
const rows = [0, 101, 6999, 7000, 30000, table.rows - 1].map((id) => {
  const row = new Float32Array(told.columns);
  table.copy(id, row, 0);
  return [id, [...row]];
});
const { codes, scales } = table.turned();
const sum = (array) => array.reduce((total, value, k) => (total + value * ((k % 1009) + 1)) % 1e12, 0);
const never = [...task.bias.keys()].filter((id) => task.bias[id] < 0);
process.stdout.write(JSON.stringify({ answers, rows, codes: sum(codes), scales: [...scales.slice(0, 5), ...scales.slice(-5)], never }));
