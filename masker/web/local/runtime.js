// ONNX Runtime's WebAssembly with the graphs of a model: runtime/onnx.py, one thread at a time.

import * as ort from "./ort.js";

const OPTIONS = { executionProviders: ["wasm"], graphOptimizationLevel: "extended", enableMemPattern: false, logSeverityLevel: 3 };

// a graph that does nothing, in ONNX: y = Identity(x)
const NOTHING = "CAgSADo3ChAKAXgSAXkiCElkZW50aXR5EgFnWg8KAXgSCgoICAESBAoCCAFiDwoBeRIKCggIARIECgIIAUIECgAQDQ==";

/** Give it its WebAssembly, and have it compiled, while the weights are on their way. */
export async function begin(wasm) {
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmBinary = wasm;
  ort.env.wasm.wasmPaths = { mjs: new URL("ort-glue.js", import.meta.url).href };
  ort.env.logLevel = "error";
  await ort.InferenceSession.create(Uint8Array.from(atob(NOTHING), (character) => character.charCodeAt(0)), OPTIONS);
}

/** A graph {file, rows: the name of its table, elsewhere: [names]}; it is given the rows of the table that it needs. */
export class Graph {
  static async load({ file, rows, elsewhere }, unpacking, { pad, size }) {
    const options = { ...OPTIONS };
    if (elsewhere.length) {
      const { codes, scales } = (await unpacking).turned();
      const made = { int8: new Uint8Array(codes.buffer), scale: new Uint8Array(scales.buffer) };
      const parts = elsewhere.map((name) => made[name.split("|").at(-1)]);
      options.externalData = [{ path: "elsewhere", data: new Uint8Array(await new Blob(parts).arrayBuffer()) }];
    }
    const session = await ort.InferenceSession.create(new Uint8Array(file), options);
    return Object.assign(new this(), { session, rows, table: await unpacking, pad, size });
  }

  async run(rows, others, outputs) {
    const [batch, length] = [rows.length, Math.max(...rows.map(({ ids }) => ids.length))];
    const slots = Math.max(...rows.map((row) => row.slots.length));
    const known = new Map([[this.pad, 0]]); // the pieces of this call, by their rows in its own small table
    const place = (id) => known.get(id) ?? (known.set(id, known.size), known.size - 1);
    const filled = (width, value) => new BigInt64Array(batch * width).map((_, k) => BigInt(value(Math.floor(k / width), k % width)));
    const feed = {
      ids: tensor(filled(length, (b, k) => (k < rows[b].ids.length ? place(rows[b].ids[k]) : 0)), [batch, length]),
      attention: tensor(filled(length, (b, k) => (k < rows[b].ids.length ? 1 : 0)), [batch, length]),
      slots: tensor(filled(slots, (b, k) => rows[b].slots[k] ?? 0), [batch, slots]),
      ...others,
    };
    const { columns } = this.table;
    const table = new Float32Array(known.size * columns);
    for (const [id, row] of known) this.table.copy(id, table, row * columns);
    feed[this.rows] = tensor(table, [known.size, columns]);
    return this.session.run(feed, outputs);
  }
}

/** A masked LM: it tells the best pieces of masks, and how likely others are. */
export class MaskedLM extends Graph {
  /** `asked` are pieces by row and mask; `bias` is -Infinity for those that may not be infilled. */
  async ask(rows, { asked, bias }) {
    const [masks, count] = [asked[0].length, asked[0][0].length];
    const others = {
      asked: tensor(BigInt64Array.from(asked.flat(2), BigInt), [rows.length, masks, count]),
      bias: tensor(bias ?? new Float32Array(this.size), [this.size]),
      top: tensor(BigInt64Array.of(1n), [1]),
    };
    const found = await this.run(rows, others, ["best", "best_log_p", "asked_log_p"]);
    const sum = (data, at, step) => Array.from({ length: masks }, (_, m) => data[at + m * step]).reduce((a, b) => a + b, 0);
    return {
      best: (b) => Array.from(found.best.data.slice(b * masks, (b + 1) * masks), Number),
      bestLogP: (b) => sum(found.best_log_p.data, b * masks, 1),
      askedLogP: (b, k) => sum(found.asked_log_p.data, b * masks * count + k, count),
    };
  }
}

/** A student: it tells the best tag of every word, and how likely it is. */
export class Tagger extends Graph {
  async tag(row, keepBias) {
    const found = await this.run([row], { keep: tensor(Float32Array.of(keepBias), [1]) }, ["best", "sure"]);
    return { best: Array.from(found.best.data, Number), sure: [...found.sure.data] };
  }
}

const tensor = (data, shape) => new ort.Tensor(data instanceof BigInt64Array ? "int64" : "float32", data, shape);
