// Nodes are made of text, never of HTML: whatever a user types stays what it is.

export const $ = (id) => document.getElementById(id);

/** A node with properties, `data-` and `aria-` attributes and children, which are nodes or strings. */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

/** Say something once in a status line. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export async function copy(text, status) {
  try {
    await navigator.clipboard.writeText(text);
    say(status, "copied");
  } catch {
    say(status, "the browser does not allow it; select the text and copy it");
  }
  setTimeout(() => say(status, ""), 2500);
}

export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export const number = (value, digits = 3) => value.toFixed(digits).replace("-", "−");
export const seconds = (ms) => (ms < 1000 ? `${Math.max(1, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`);
