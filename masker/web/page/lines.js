// Many lines at once, shown as they come, and taken away as JSONL or CSV.

import { showDiff } from "./diff.js";
import { $, download, el, say, seconds } from "./dom.js";
import * as engine from "./engine.js";

const SHOWN = 500; // results on the page; the files have them all
const AT_A_TIME = 2000; // lines of one request: its size is limited

export class ManyLines {
  constructor({ settings, onTrouble }) {
    Object.assign(this, { settings, onTrouble, answers: [] });
    $("run").addEventListener("click", () => this.run());
    $("stop").addEventListener("click", () => this.controller.abort());
    $("file").addEventListener("change", async () => {
      const [file] = $("file").files;
      if (file) $("lines").value = (await file.text()).replace(/\r?\n$/, "");
    });
    $("jsonl").addEventListener("click", () => download("rewrites.jsonl", "application/x-ndjson", this.jsonl()));
    $("csv").addEventListener("click", () => download("rewrites.csv", "text/csv", this.csv()));
  }

  /** Which methods there are for the domains that are chosen. */
  showMethods() {
    const { methods } = this.settings();
    const before = $("lines-method").value;
    $("lines-method").replaceChildren(...methods.map((name) => el("option", {}, name)));
    $("lines-method").value = methods.includes(before) ? before : methods.includes("fast") ? "fast" : methods[0];
  }

  async run() {
    const lines = $("lines").value.split(/\r?\n/);
    const { to, from, keep, strength, knobs } = this.settings();
    const method = $("lines-method").value;
    const options = { to, from, keep, method, ...(strength && knobs(method).includes("strength") && { strength }) };
    this.controller = new AbortController();
    this.begin(lines.length);
    const begun = performance.now();
    try {
      for (let at = 0; at < lines.length; at += AT_A_TIME) {
        const some = lines.slice(at, at + AT_A_TIME);
        for await (const answer of engine.batch(some, options, this.controller.signal)) this.add(answer);
      }
    } catch (error) {
      if (error.name !== "AbortError") this.onTrouble(error.message);
    }
    this.end(lines.length, performance.now() - begun);
  }

  begin(count) {
    this.answers = [];
    this.onTrouble("");
    $("results").replaceChildren();
    $("progress").max = count;
    $("progress").value = 0;
    $("progress").hidden = $("stop").hidden = false;
    $("run").disabled = $("jsonl").disabled = $("csv").disabled = true;
    say($("lines-status"), "");
  }

  add(answer) {
    this.answers.push(answer);
    $("progress").value = this.answers.length;
    if (this.answers.length > SHOWN) return;
    const line = el("li", { className: answer.edits.length ? "" : "same" });
    showDiff(line, answer.source, answer.edits);
    if (answer.error) line.append(el("small", { className: "error" }, ` ${answer.error}`));
    $("results").append(line);
  }

  end(count, time) {
    const done = this.answers.length;
    const edited = this.answers.filter((answer) => answer.edits.length).length;
    $("progress").hidden = $("stop").hidden = true;
    $("run").disabled = false;
    $("jsonl").disabled = $("csv").disabled = !done;
    const more = done > SHOWN ? ` The first ${SHOWN} are shown.` : "";
    say($("lines-status"), `${done} of ${count} lines in ${seconds(time)}, ${edited} of them edited.${more}`);
  }

  jsonl() { return this.answers.map((answer) => answer.record + "\n").join(""); }

  csv() {
    const quoted = (value) => `"${String(value ?? "").replaceAll('"', '""')}"`;
    const columns = ["source", "text", "from", "to", "method", "error"];
    const rows = this.answers.map((answer) => columns.map((name) => quoted(answer[name])).join(","));
    return [columns.join(","), ...rows, ""].join("\r\n");
  }
}
