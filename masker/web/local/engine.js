// Who rewrites, where there is no server: the model itself, in two threads of this page. The same functions as the
// engine of `masker serve` has, so that the page does not know.

export const API = null; // nobody else can ask

const FILES = ["ort.wasm", "embeddings.safetensors", "student.onnx", "model.onnx"];
const moment = () => new Promise((go) => setTimeout(go, 400)); // for the student's first answer, before the model takes a core
const LIMITS = { max_chars: 10_000, explained_chars: 300 };

export class EngineError extends Error {}

const url = (name) => new URL(name, import.meta.url);
const loading = { done: 0, total: 0, listener: () => {} };
let about; // what `masker page` has written of the model, from the first question on
const threads = {};

/** Be told how much has been loaded: ({done, total}) in bytes, and null when all is ready. */
export function onLoading(listener) { loading.listener = listener; }

export function setToken() {}

/** What can be asked for: {models: [{domains, tasks}], methods, usual, limits, to}. */
export async function models() {
  about = await (await get("model.json")).json();
  start();
  const { version, name, domains, tasks } = about;
  return {
    version, to: null, usual: ["fast", "paper"], methods: [{ name: "fast", options: [] }, { name: "paper", options: [] }],
    limits: LIMITS, models: [{ name, domains, tasks }],
  };
}

export async function edit(text, options, signal) {
  const thread = options.method === "fast" ? threads.student : threads.model;
  return thread.ask({ verb: "edit", text, options: plain(options) }, signal);
}

export async function explain(text, options, signal) {
  return threads.model.ask({ verb: "explain", text, options: plain(options) }, signal);
}

export async function* batch(texts, options, signal) {
  for (const text of texts) {
    let answer;
    try {
      answer = await edit(text, options, signal);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      answer = { source: text, text, from: options.from, to: options.to, edits: [], error: error.message };
    }
    const { time, ...record } = counted(answer);
    yield { ...answer, record: JSON.stringify(record) };
  }
}

const plain = ({ to, from, keep, method }) => ({ to, from, keep: [...keep], method });

/** Offsets in characters, as the command line has them; this page counts UTF-16 units. */
function counted(rewrite) {
  const at = (unit) => [...rewrite.source.slice(0, unit)].length;
  return { ...rewrite, edits: rewrite.edits.map((one) => ({ ...one, start: at(one.start), end: at(one.end) })) };
}

// -- loading ---------------------------------------------------------------------------------------------------------

const broken = (name) => new EngineError(`${name} cannot be loaded; write the page again with masker page.`);

async function get(name) {
  const answer = await fetch(url(name), { cache: "no-cache" }).catch(() => null); // "no-cache": kept, but asked about
  if (!answer?.ok) throw broken(name);
  return answer;
}

/** The bytes of a file, counted as they come. */
async function bytes(name) {
  const reader = (await get(name)).body.getReader();
  const found = new Uint8Array(about.sizes[name]);
  let at = 0;
  for (;;) {
    const { value = [], done } = await reader.read();
    if (at + value.length > found.length || (done && at < found.length)) throw broken(name); // of another page
    if (done) return found.buffer;
    found.set(value, at);
    at += value.length;
    const before = loading.done;
    loading.done += value.length;
    if (loading.done >> 20 > before >> 20) loading.listener({ done: loading.done, total: loading.total });
  }
}

/** Load the student and then the model; questions wait for what they need. */
function start() {
  if (threads.model) return;
  const present = FILES.filter((name) => name in about.sizes);
  loading.total = present.reduce((sum, name) => sum + about.sizes[name], 0);
  const wasm = bytes("ort.wasm");
  const tokens = get("vocabulary.txt").then((answer) => answer.text()).then((text) => text.split("\n"));
  const shared = Promise.all([tokens, bytes("embeddings.safetensors")]);
  if (about.graphs.student) threads.student = new Thread("student", wasm, shared, bytes("student.onnx"));
  const first = Promise.allSettled([threads.student?.ready ?? shared]).then(moment);
  threads.model = new Thread("model", first.then(() => wasm), shared, first.then(() => bytes("model.onnx")));
  Promise.all(Object.values(threads).map((one) => one.ready)).then(() => loading.listener(null), () => loading.listener(null));
}

// -- asking ----------------------------------------------------------------------------------------------------------

class Thread {
  constructor(name, wasm, shared, file) {
    // from a blob, so that the page's content security policy holds there too: a worker from a file would have none
    const code = `import(${JSON.stringify(url("worker.js").href)}).catch((error) => postMessage({ id: 0, error: String(error) }));`;
    this.worker = new Worker(URL.createObjectURL(new Blob([code])));
    this.waiting = new Map();
    this.count = 0;
    const here = this.expect(); // it says so itself, as what is sent before would be lost
    this.worker.onmessage = ({ data: { id, answer, error } }) => {
      const { resolve, reject } = this.waiting.get(id) ?? {};
      this.waiting.delete(id);
      if (error === undefined) resolve?.(answer);
      else reject?.(new EngineError(error));
    };
    this.worker.onerror = ({ message }) => {
      for (const { reject } of this.waiting.values()) reject(new EngineError(message || "A thread of this page has ended."));
    };
    const begun = Promise.all([wasm, here]).then(([file]) => this.send({ verb: "begin", wasm: file }));
    this.ready = Promise.all([shared, file, begun]).then(([[tokens, embeddings], graph]) =>
      this.send({ verb: "load", name, told: about, tokens, embeddings, file: graph }));
    this.ready.catch(() => {}); // told to those who ask
  }

  /** The answer to the next question. */
  expect() {
    const id = this.count++;
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  send(asked) {
    this.worker.postMessage({ id: this.count, ...asked });
    return this.expect();
  }

  /** An answer, and the `time` that it took. The question is dropped when the signal says so. */
  async ask(asked, signal) {
    await this.ready;
    signal?.throwIfAborted();
    const begun = performance.now();
    const id = this.count;
    const answer = this.send(asked);
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => {
        if (this.waiting.delete(id)) this.worker.postMessage({ id, drop: true });
        reject(signal.reason);
      });
      answer.then((told) => resolve({ time: performance.now() - begun, ...told }), reject);
    });
  }
}

