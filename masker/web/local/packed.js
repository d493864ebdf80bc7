// The word embeddings, as model/packed.py stores them: twelve bits a weight, eight for those of rare pieces; and what is
// made of them, as runtime/graphs.py makes it.

const UNIT = 1024; // scales are stored so many times larger, to be well inside the range of float16
const TYPES = { U8: Uint8Array, I8: Int8Array, F32: Float32Array };

/** Arrays of a safetensors file by name; float16 becomes float32. */
export function safetensors(buffer) {
  const size = Number(new DataView(buffer).getBigUint64(0, true));
  const told = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  const arrays = {};
  for (const [name, { dtype, data_offsets: [begin, end] }] of Object.entries(told)) {
    if (name === "__metadata__") continue;
    const part = buffer.slice(8 + size + begin, 8 + size + end);
    arrays[name] = dtype === "F16" ? Float32Array.from(new Uint16Array(part), half) : new TYPES[dtype](part);
  }
  return arrays;
}

/** A float16, which is never infinite here. */
function half(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const value = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  return bits & 0x8000 ? -value : value;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Int8Array(await new Response(stream).arrayBuffer());
}

/** A table of embeddings whose rows are unpacked when they are asked for. */
export class Table {
  constructor(parts, columns) {
    Object.assign(this, { parts, columns });
    this.rows = parts.reduce((sum, part) => sum + part.high.length, 0) / columns;
  }

  static async read(buffer, columns) {
    const arrays = safetensors(buffer);
    const parts = ["0", "1"].filter((k) => `${k}.high` in arrays).map(async (k) => {
      const [high, scale] = [await inflated(arrays[`${k}.high`]), arrays[`${k}.scale`]];
      return { high, low: arrays[`${k}.low`] ?? null, scale, group: high.length / scale.length };
    });
    return new Table(await Promise.all(parts), columns);
  }

  /** Write row `id` into `into` from an index on. */
  copy(id, into, at) {
    let first = id * this.columns;
    const part = this.parts.find(({ high }) => first < high.length || ((first -= high.length), false));
    const { high, low, scale, group } = part;
    for (let c = 0; c < this.columns; c++) {
      const k = first + c;
      const code = low ? (high[k] << 4) | (k & 1 ? low[k >> 1] >> 4 : low[k >> 1] & 15) : high[k];
      into[at + c] = code * Math.fround(scale[(k / group) | 0] / UNIT);
    }
  }

  /** Columns as rows in int8, and a scale for each of them: the projection of vectors to pieces. */
  turned() {
    const { rows, columns } = this;
    const [codes, scales] = [new Int8Array(rows * columns), new Float32Array(rows)];
    const AT_A_TIME = 64; // rows: neighbours in what is written, which is faster
    const block = new Float32Array(AT_A_TIME * columns);
    for (let first = 0; first < rows; first += AT_A_TIME) {
      const count = Math.min(AT_A_TIME, rows - first);
      for (let r = 0; r < count; r++) {
        this.copy(first + r, block, r * columns);
        let most = 0;
        for (let c = 0; c < columns; c++) most = Math.max(most, Math.abs(block[r * columns + c]));
        scales[first + r] = most / 127 < 1.1754943508222875e-38 ? 1 : most / 127;
      }
      for (let c = 0; c < columns; c++) {
        for (let r = 0; r < count; r++) codes[c * rows + first + r] = rounded(Math.fround(block[r * columns + c] / scales[first + r]));
      }
    }
    return { codes, scales };
  }
}

const MAGIC = 1.5 * 2 ** 52; // adding it rounds, halves to even
const rounded = (value) => value + MAGIC - MAGIC;
