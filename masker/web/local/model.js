// A model that is asked: which domains it has, and what becomes of a text. api.py and methods.py, as far as a page needs them.

import * as fast from "./fast.js";
import * as paper from "./paper.js";
import { keptIn, patterns } from "./protection.js";

const MOST_WORDS = { fast: 2000, paper: 100 }; // of a text: exhaustive scoring asks five questions a word

export class Model {
  /** `told` is what `masker page` has written of it; `graphs` may have a `model` and a `student`. */
  constructor(told, vocabulary, graphs) {
    Object.assign(this, { told, vocabulary, graphs, last: { key: null } });
  }

  /** Rewrite a text. `pause` is awaited between the steps of what takes long, and may throw. */
  async edit(source, { method, ...options }, pause) {
    const { told } = this;
    this.check(source, method);
    const task = this.task(options, method === "fast");
    if (method === "paper") {
      const found = await this.scores(task, source, options, pause);
      return { ...paper.rewrite(task, found), time: this.last.time };
    }
    const student = { ...told.student, graph: this.graphs.student };
    return fast.rewrite(task, student, source, told.tasks.find(({ from, to }) => from === task.from && to === task.to).unit);
  }

  async explain(source, options, pause) {
    this.check(source, "paper");
    const task = this.task(options, false);
    return paper.explanation(task, await this.scores(task, source, options, pause));
  }

  /** The scores of a text, remembered: it is first rewritten and then explained. */
  async scores(task, source, options, pause) {
    const key = JSON.stringify([source, task.to, task.from, options.keep]);
    if (this.last.key !== key) {
      const begun = performance.now();
      const found = await paper.scoresOf(task, this.graphs.model, source, pause);
      this.last = { key, found, time: performance.now() - begun };
    }
    return this.last.found;
  }

  /** From which domain to which, and what may not be touched or inserted. */
  task({ to, from, keep = [] }, standard) {
    const { vocabulary, told } = this;
    const found = patterns(keep, standard);
    const forbid = new Set((told.forbid[to] ?? []).map((word) => word.toLowerCase()));
    return {
      vocabulary, to, from, forbid, window: told.window, frame: { ...vocabulary.frame, masks: told.n_p },
      target: vocabulary.domain(to), source: from === null ? null : vocabulary.domain(from),
      keptIn: (source) => keptIn(source, found), bias: this.bias(forbid),
    };
  }

  /** -Infinity for pieces that may not be infilled: the forbidden words of one piece are left out beforehand. */
  bias(forbid) {
    const bias = new Float32Array(this.vocabulary.size);
    for (const id of this.vocabulary.never) bias[id] = -Infinity;
    for (const word of forbid) {
      const pieces = this.vocabulary.chunk(word).flatMap((part) => part.pieces);
      if (pieces.length === 1) bias[pieces[0]] = -Infinity;
    }
    return bias;
  }

  check(source, method) {
    const words = source.split(/\s+/).length;
    if (words <= MOST_WORDS[method]) return;
    throw new Error(`The text has ${words} words; here ${method} reads ${MOST_WORDS[method]} at most. masker serve and masker edit read more.`);
  }
}
