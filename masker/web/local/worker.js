// A thread that computes, so that the page never waits. It is given all it needs and asks nobody: it was made from a
// blob, and so the page's content security policy is its own too.

import { Model } from "./model.js";
import { Table } from "./packed.js";
import { MaskedLM, Tagger, begin } from "./runtime.js";
import { Vocabulary } from "./vocabulary.js";

const GRAPHS = { student: Tagger, model: MaskedLM };
const dropped = new Set(); // questions that nobody waits for any more
let model;

/** What was sent meanwhile is read. */
const turn = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); resolve(); };
  port2.postMessage(null);
});

async function load({ name, told, tokens, embeddings, file }) {
  const vocabulary = new Vocabulary({ ...told.vocabulary, tokens });
  const unpacking = Table.read(embeddings, told.columns); // by another thread of the browser's, as far as it is inflating
  const graph = await GRAPHS[name].load({ ...told.graphs[name], file }, unpacking, vocabulary);
  model = new Model(told, vocabulary, { [name]: graph });
}

async function answer(id, { verb, text, options }) {
  const pause = async () => {
    await turn();
    if (dropped.has(id)) throw new Error("dropped");
  };
  await pause();
  return verb === "edit" ? model.edit(text, options, pause) : model.explain(text, options, pause);
}

const VERBS = { begin: (id, { wasm }) => begin(wasm), load: (id, asked) => load(asked), edit: answer, explain: answer };

let last = Promise.resolve(); // one question after the other
addEventListener("message", ({ data: { id, drop, ...asked } }) => {
  if (drop) return dropped.add(id);
  last = last.then(async () => {
    try {
      postMessage({ id, answer: await VERBS[asked.verb](id, asked) });
    } catch (error) {
      if (!dropped.has(id)) postMessage({ id, error: String(error?.message ?? error) });
    } finally {
      dropped.delete(id);
    }
  });
});
postMessage({ id: 0 }); // here
