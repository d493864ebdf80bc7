// The page: what is chosen in its pickers, and the two views that use it.

import { $, copy, el, say } from "./dom.js";
import * as engine from "./engine.js";
import { EXAMPLES } from "./examples.js";
import { ManyLines } from "./lines.js";
import * as link from "./link.js";
import { OneText } from "./one.js";

const state = { keep: [], strength: null, many: false };
let told; // by the engine: domains, methods, limits

const task = () => told.models[0].tasks.find(({ from, to }) => to === $("to").value && (from ?? "") === $("from").value);

function settings() {
  const { methods = [] } = task() ?? {};
  const knobs = (method) => told.methods.find(({ name }) => name === method)?.options ?? [];
  const { keep, strength } = state;
  return { to: $("to").value, from: $("from").value || null, keep, strength, methods, knobs, usual: told.usual, limits: told.limits };
}

function trouble(text) {
  say($("trouble"), text);
  $("trouble").hidden = !text;
}

/** How much of the model is there, if it is loaded into the page; null when it is ready. */
function showLoading(loaded) {
  $("loading").hidden = !loaded;
  if (loaded) Object.assign($("loading").querySelector("progress"), { max: loaded.total, value: loaded.done });
}

// -- pickers ---------------------------------------------------------------------------------------------------------

function fillPickers(chosen) {
  const { domains, tasks } = told.models[0];
  const names = domains.map(({ name }) => name).filter((name) => tasks.some(({ to }) => to === name));
  const to = names.includes(chosen.to) ? chosen.to : told.to ?? tasks[0].to;
  $("to").replaceChildren(...names.map((name) => el("option", {}, name)));
  $("to").value = to;
  fillFrom(chosen.from);
}

const counterpart = (to) => told.models[0].domains.find(({ name }) => name === to)?.from;

/** Where texts may come from, the counterpart if nothing else is said. */
function fillFrom(wanted) {
  const sources = told.models[0].tasks.filter(({ to }) => to === $("to").value).map(({ from }) => from ?? "");
  $("from").replaceChildren(...sources.sort().map((name) => el("option", { value: name }, name || "anything")));
  $("from").value = [wanted, counterpart($("to").value), sources[0]].find((name) => sources.includes(name));
  canSwap();
}

/** Some domains are only read: nothing can be rewritten to them. */
function canSwap() {
  const [from, to] = [$("from").value, $("to").value];
  $("swap").disabled = !told.models[0].tasks.some((task) => task.to === from && task.from === to);
}

function showExamples() {
  const some = (EXAMPLES[$("from").value] ?? []).filter((text) => text !== $("text").value);
  const chip = (text) => el("button", { type: "button", className: "quiet", onclick: () => setText(text) }, text);
  $("examples").replaceChildren(...(some.length ? [el("span", {}, "Try: ")] : []), ...some.map(chip));
}

function showStrength() {
  const usual = task()?.strength ?? 0.9;
  $("strength").value = state.strength ?? usual;
  say($("strength-value"), Number(state.strength ?? usual).toFixed(2));
  $("strength-reset").hidden = !state.strength;
  $("strength-box").hidden = !told.methods.some(({ options }) => options.includes("strength"));
  $("strength").disabled = !settings().methods.some((name) => settings().knobs(name).includes("strength"));
}

function setStrength(strength) {
  state.strength = strength;
  showStrength();
  remember();
  one.ask();
}

function setText(text) {
  $("text").value = text;
  fit();
  showExamples();
  remember();
  one.ask();
}

/** The text box grows with its text. */
function fit() {
  const box = $("text");
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + 2}px`;
}

function remember() {
  link.write({ text: $("text").value, from: $("from").value, to: $("to").value, ...state });
}

function directionChanged() {
  canSwap();
  showExamples();
  showStrength();
  many.showMethods();
  remember();
  one.ask();
}

/** Protect a word from being changed, or no longer. */
function protect(word) {
  const term = word.toLowerCase();
  state.keep = state.keep.includes(term) ? state.keep.filter((other) => other !== term) : [...state.keep, term];
  showProtected();
  remember();
  one.ask();
}

function showProtected() {
  const chip = (word) => el("button", { type: "button", className: "chip", title: "Protect it no longer", onclick: () => protect(word) }, word, " ×");
  $("protected").replaceChildren("Protected: ", ...state.keep.map(chip));
  $("protected").hidden = !state.keep.length;
}

// -- views -----------------------------------------------------------------------------------------------------------

function choose(isMany, focus) {
  state.many = isMany;
  for (const [name, on] of [["one", !isMany], ["many", isMany]]) {
    $(name).hidden = !on;
    $(`tab-${name}`).setAttribute("aria-selected", String(on));
    $(`tab-${name}`).tabIndex = on ? 0 : -1;
    if (on && focus) $(`tab-${name}`).focus();
  }
  remember();
}

const one = new OneText({ settings, onWord: protect, onTrouble: trouble, onText: () => { fit(); showExamples(); remember(); } });
const many = new ManyLines({ settings, onTrouble: trouble });

function listen() {
  $("to").addEventListener("change", () => { fillFrom(); directionChanged(); });
  $("from").addEventListener("change", directionChanged);
  $("swap").addEventListener("click", () => {
    const [from, to] = [$("from").value, $("to").value];
    $("to").value = from;
    fillFrom(to);
    directionChanged();
  });
  $("strength").addEventListener("input", () => setStrength(Number($("strength").value)));
  $("strength-reset").addEventListener("click", () => { setStrength(null); $("strength").focus(); });
  $("link").addEventListener("click", () => copy(location.href, $("said")));
  $("tab-one").addEventListener("click", () => choose(false));
  $("tab-many").addEventListener("click", () => choose(true));
  document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") choose(!state.many, true);
  });
  addEventListener("hashchange", () => begin(link.read()));
}

/** Show what a link says, or an example. */
function begin(linked) {
  fillPickers(linked);
  Object.assign(state, { keep: linked.keep, strength: linked.strength });
  choose(linked.many);
  showProtected();
  showStrength();
  many.showMethods();
  $("text").value = linked.text ?? EXAMPLES[$("from").value]?.[0] ?? "";
  showExamples();
  fit();
  one.ask();
}

async function start() {
  engine.onLoading(showLoading);
  try {
    told = await engine.models();
  } catch (error) {
    $("token-form").hidden = error.status !== 401;
    if (error.status === 401) return $("token").focus();
    return trouble(error.message);
  }
  $("token-form").hidden = true;
  $("api").hidden = !engine.API;
  if (engine.API) $("api").href = engine.API;
  say($("about"), `Masker ${told.version}, the model “${told.models[0].name}”.`);
  listen();
  begin(link.read());
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  engine.setToken($("token").value);
  start();
});
start();
