// Who rewrites: the only module that knows of a server. To run on something else, replace it by one with the same
// functions. Offsets in answers are those of JavaScript's strings.

export const API = "openapi.json"; // what else can be asked, if anything

const TOKEN = "masker-token";

export class EngineError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** What can be asked for: {models: [{domains, tasks}], methods, usual, limits, to}. */
export async function models(signal) {
  return (await ask("v1/models", undefined, signal)).json();
}

/** A text rewritten: {source, text, edits: [{start, end, old, new, score}], method, alternatives}. */
export async function edit(text, options, signal) {
  return localised(await (await ask("v1/edit", { text, ...options }, signal)).json());
}

/** Every span of a text with its scores: {source, offsets, spans: [{i, words, start, end, new, score, L1 ...}]}. */
export async function explain(text, { to, from, keep }, signal) {
  const told = await (await ask("v1/explain", { text, to, from, keep }, signal)).json();
  const at = places(told.source);
  const spans = told.spans.map((span) => ({ ...span, start: at(span.start), end: at(span.end) }));
  return { ...told, offsets: told.offsets.map(([start, end]) => [at(start), at(end)]), spans };
}

/** Many texts, as they come: an answer of `edit` for each, in order. */
export async function* batch(texts, options, signal) {
  const answer = await ask("v1/batch", { texts, ...options }, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield { record: line, ...localised(JSON.parse(line)) };
  }
}

/** Be told how much has been loaded, {done, total}, and null when all is: a service has loaded everything before. */
export function onLoading() {}

export function setToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

async function ask(path, body, signal) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { ...(body && { "Content-Type": "application/json" }), ...(token && { Authorization: `Bearer ${token}` }) };
  let answer;
  try {
    answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new EngineError("The service does not answer. Is it still running?", 0);
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new EngineError(told.error ?? `The service answered with ${answer.status}.`, answer.status);
}

/** The server counts characters, JavaScript UTF-16 units: where character n stands. */
function places(text) {
  const units = [0];
  for (const character of text) units.push(units.at(-1) + character.length);
  return (n) => units[n];
}

function localised(rewrite) {
  const at = places(rewrite.source);
  const local = (edits) => edits.map((one) => ({ ...one, start: at(one.start), end: at(one.end) }));
  const alternatives = rewrite.alternatives?.map((other) => ({ ...other, edits: local(other.edits) }));
  return { ...rewrite, edits: local(rewrite.edits), ...(alternatives && { alternatives }) };
}
