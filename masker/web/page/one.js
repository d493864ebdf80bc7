// One text: asked about as it is typed, and decided about edit by edit.

import { changed, showEdits } from "./diff.js";
import { $, copy, el, number, say, seconds } from "./dom.js";
import { applied, asEdit, candidatesFor, told, withEdit } from "./edits.js";
import * as engine from "./engine.js";
import { mark, showGrid, showWords } from "./heat.js";
import { showMethods } from "./methods.js";
import { showTable } from "./table.js";

const PAUSE = 100; // ms after the last key until the quick method is asked
const REST = 450; // ms after the last key until the model is: it takes a second, and keys may follow

/** `settings()` gives {to, from, strength, keep, methods, usual, limits}; `onWord` and `onTrouble` are told of things. */
export class OneText {
  constructor({ settings, onWord, onTrouble, onText }) {
    Object.assign(this, { settings, onWord, onTrouble, onText });
    this.forget();
    $("text").addEventListener("input", () => { onText(); this.ask(); });
    $("copy").addEventListener("click", () => copy(this.result, $("said")));
    $("undo-all").addEventListener("click", () => this.decide(this.edits.map((edit) => ({ ...edit, undone: true }))));
    $("reuse").addEventListener("click", () => { $("text").value = this.result; onText(); this.ask(); $("text").focus(); });
    $("more").addEventListener("click", () => { this.all = !this.all; this.showTable(); });
    $("methods").addEventListener("toggle", () => this.compare());
  }

  get text() { return $("text").value; }
  get result() { return applied(this.text, this.edits); }

  forget() {
    Object.assign(this, { edits: [], rewrites: new Map(), explanation: null, chosen: null, decided: false, all: false });
  }

  /** Ask anew, a moment after the last call; what was asked before is no longer of interest. */
  ask() {
    this.controller?.abort();
    clearTimeout(this.quick);
    clearTimeout(this.slow);
    const same = this.asked === this.text;
    const edits = same ? this.edits : [];
    this.forget();
    this.asked = this.text;
    this.edits = edits;
    this.stale(true);
    if (!this.text.trim()) return this.showNothing();
    const controller = (this.controller = new AbortController());
    const run = (work) => work(controller.signal).catch((error) => error.name !== "AbortError" && this.failed(error));
    this.quick = setTimeout(() => run((signal) => this.askQuick(signal)), PAUSE);
    this.slow = setTimeout(() => run((signal) => this.askModel(signal)), REST);
  }

  async askQuick(signal) {
    if (this.settings().methods.includes("fast")) await this.rewrite("fast", signal);
  }

  /** The usual method, the explanation, and whatever else is looked at. */
  async askModel(signal) {
    const { methods, usual, limits } = this.settings();
    const best = usual.find((name) => methods.includes(name));
    say($("status"), this.status(`asking ${best}…`));
    await this.rewrite(best, signal);
    if (this.text.length <= limits.explained_chars && /[\p{L}\p{N}]/u.test(this.text)) {
      say($("status"), this.status("reading every span…"));
      this.explanation = await engine.explain(this.text, this.options(), signal);
      if (signal.aborted) return;
      this.showExplanation();
      say($("status"), this.status());
    } else {
      this.hideExplanation("The text is too long to be explained.");
    }
    await this.compare();
  }

  options() {
    const { to, from, keep } = this.settings();
    return { to, from, keep };
  }

  /** Rewrite by a method and show it, unless something has been decided already. */
  async rewrite(method, signal, more = {}) {
    const { strength, knobs } = this.settings();
    const begun = performance.now();
    const options = { ...this.options(), method, ...(strength && knobs(method).includes("strength") && { strength }), ...more };
    const rewrite = await engine.edit(this.text, options, signal);
    if (signal.aborted) return null;
    rewrite.time ??= performance.now() - begun;
    this.rewrites.set(method, rewrite);
    this.trouble("");
    if (!this.decided && !more.top) this.show(rewrite, method);
    this.showMethods();
    return rewrite;
  }

  show(rewrite, method) {
    this.edits = rewrite.edits.map((edit) => ({ ...edit }));
    this.chosen = null;
    this.shown = method;
    this.stale(false);
    this.showEdits();
    say($("status"), this.status());
  }

  /** What was done, by whom, and how long it took. */
  status(more = "") {
    const rewrite = this.rewrites.get(this.shown);
    if (!rewrite) return more;
    const { edits, method, time, reason } = rewrite;
    const count = edits.length === 1 ? "1 edit" : `${edits.length} edits`;
    const what = edits.length ? count : `nothing to change: ${reason ?? "it is well as it is"}`;
    const sure = rewrite.confidence === undefined ? "" : `, ${Math.round(100 * rewrite.confidence)} % sure`;
    const by = method && method !== this.shown ? `${method} (${this.shown})` : this.shown;
    return [`${what}, by ${by} in ${seconds(time)}${sure}`, more].filter(Boolean).join("; ");
  }

  // -- edits ---------------------------------------------------------------------------------------------------------

  /** These edits it shall be; the keyboard goes on at one of them. */
  decide(edits, at = null) {
    Object.assign(this, { edits, chosen: null, decided: true });
    this.showEdits();
    if (at) $("diff").querySelectorAll("button")[edits.indexOf(at)]?.focus();
  }

  /** Another edit in the place of one and of whatever else it touches. */
  replace(edit, other) {
    const chosen = { ...other, undone: false, kept: true };
    this.decide(withEdit(this.edits.filter((one) => one !== edit), chosen), chosen);
  }

  /** Accept an edit, or reject it. */
  judge(edit, accepted) {
    const judged = { ...edit, undone: !accepted, kept: accepted };
    this.decide(this.edits.map((one) => (one === edit ? judged : one)), judged);
  }

  showEdits() {
    showEdits($("diff"), this.text, this.edits, {
      chosen: this.chosen,
      onOpen: (edit) => this.open(edit),
      onToggle: (edit) => this.judge(edit, !!edit.undone),
    });
    for (const id of ["copy", "reuse"]) $(id).disabled = !this.text.trim();
    $("undo-all").disabled = !this.edits.some((edit) => !edit.undone);
    this.showChoice();
  }

  /** Show what else could stand there. Nothing that comes in later changes what somebody is looking at. */
  open(edit) {
    this.chosen = this.chosen === edit ? null : edit;
    this.decided = true;
    this.showEdits();
    this.lookFurther();
  }

  /** What can be done with the edit that was clicked. */
  showChoice() {
    const [box, edit] = [$("choice"), this.chosen];
    box.hidden = !edit;
    if (!edit) return;
    const others = candidatesFor(edit, this.text, this.allRewrites(), this.explanation);
    const act = (className, onclick, ...content) => el("button", { type: "button", className, onclick }, ...content);
    box.replaceChildren(
      el("div", { className: "verdict" },
        el("span", { className: "edit" }, ...changed(edit)),
        act("primary", () => this.judge(edit, true), "Accept"),
        act("", () => this.judge(edit, false), "Reject"),
      ),
      el("p", { className: "help" }, others.length ? "Or instead:" : this.looking ? "Looking for more…" : "Nothing else was found."),
      el("div", { className: "chips" }, ...others.map((other) => act("chip", () => this.replace(edit, other), ...changed(other)))),
    );
  }

  allRewrites() {
    const rewrites = [...this.rewrites.values()];
    return [...rewrites, ...rewrites.flatMap((rewrite) => rewrite.alternatives ?? [])];
  }

  /** Several rewrites by the search editor, from the moment that somebody wants to choose. */
  async lookFurther() {
    if (!this.chosen || this.looking || this.rewrites.has("more") || !this.settings().methods.includes("search")) return;
    this.looking = true;
    try {
      const { signal } = this.controller;
      const { strength } = this.settings();
      const more = await engine.edit(this.text, { ...this.options(), method: "search", top: 8, ...(strength && { strength }) }, signal);
      if (!signal.aborted) this.rewrites.set("more", more);
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error);
    } finally {
      this.looking = false;
      this.showChoice();
    }
  }

  // -- explanation ---------------------------------------------------------------------------------------------------

  showExplanation() {
    const { explanation } = this;
    const { keep } = this.settings();
    $("words").classList.remove("waiting");
    showWords($("words"), explanation, {
      kept: (word) => keep.includes(word.toLowerCase()),
      onToggle: this.onWord,
      onPoint: (told) => say($("readout"), told),
    });
    const both = explanation.from !== null;
    $("legend").hidden = !both;
    document.querySelector(".source-name").textContent = explanation.from ?? "";
    document.querySelector(".target-name").textContent = explanation.to;
    $("figure").hidden = $("candidates").hidden = false;
    showGrid($("grid"), explanation, { onPoint: (span) => this.point(span), onApply: (span) => this.apply(span) });
    this.showTable();
    this.showChoice();
  }

  hideExplanation(why) {
    $("words").replaceChildren(why);
    $("words").classList.remove("waiting");
    $("figure").hidden = $("candidates").hidden = $("legend").hidden = true;
  }

  showTable() {
    const handlers = { all: this.all, onPoint: (span) => this.point(span), onApply: (span) => this.apply(span) };
    const left = showTable($("table").tBodies[0], this.explanation, handlers);
    $("more").hidden = !left && !this.all;
    $("more").textContent = this.all ? "Show the best" : `Show all ${this.explanation.spans.length} spans`;
  }

  /** Show where a span is: in the words, in the grid and in the table. */
  point(span) {
    mark($("words"), span);
    const index = span ? String(this.explanation.spans.indexOf(span)) : null;
    for (const node of document.querySelectorAll("#grid [data-span], #table tr[data-span]")) {
      node.classList.toggle("pointed", node.dataset.span === index);
    }
    if (!span) return;
    const what = span.candidate ? told(asEdit(span, this.text)) : "no other words are likelier here";
    say($("readout"), `${what}: Score ${number(span.score)}`);
  }

  apply(span) {
    const edit = { ...asEdit(span, this.text), kept: true };
    this.decide(withEdit(this.edits, edit));
    say($("status"), told(edit));
  }

  // -- methods -------------------------------------------------------------------------------------------------------

  /** Ask the methods that have not been asked, one after the other, if somebody looks. */
  async compare() {
    this.showMethods();
    if (!$("methods").open || !this.text.trim() || !this.controller) return;
    const { signal } = this.controller;
    try {
      for (const method of this.settings().methods) {
        if (this.rewrites.has(method) || signal.aborted) continue;
        const decided = this.decided;
        this.decided = true; // what is shown stays
        await this.rewrite(method, signal).finally(() => { this.decided = decided; });
      }
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error);
    }
  }

  showMethods() {
    if (!$("methods").open) return;
    const use = (rewrite, method) => { this.show(rewrite, method); this.decided = true; };
    showMethods($("method-table").tBodies[0], this.text, this.settings().methods, this.rewrites, use);
  }

  // -- the rest ------------------------------------------------------------------------------------------------------

  stale(is) {
    $("diff").classList.toggle("waiting", is);
    if (is) $("words").classList.add("waiting");
  }

  showNothing() {
    this.stale(false);
    this.showEdits();
    this.hideExplanation("");
    this.showMethods();
    say($("status"), "");
  }

  trouble(text) { this.onTrouble(text); }

  failed(error) {
    this.stale(false);
    this.trouble(error.message);
  }
}
