// A rewrite as a diff, in which each edit is a button.

import { el } from "./dom.js";
import { told } from "./edits.js";

/** Old and new words of an edit as nodes. The space between them is for the eye only. */
export function changed(edit) {
  const nodes = [];
  if (edit.old.trim()) nodes.push(el("del", {}, edit.old.trim()));
  if (edit.old.trim() && edit.new.trim()) nodes.push(" ");
  if (edit.new.trim()) nodes.push(el("ins", {}, edit.new.trim()));
  return nodes;
}

/** A text with its edits, to look at. */
export function showDiff(node, text, edits) {
  node.replaceChildren(...parts(text, edits, (edit) => el("span", { className: "edit" }, ...changed(edit))));
}

/** A text with its edits, to decide about: `onOpen(edit)` and `onToggle(edit)` are told of clicks and of Delete. */
export function showEdits(node, text, edits, { chosen, onOpen, onToggle }) {
  const focused = [...node.querySelectorAll("button")].indexOf(document.activeElement);
  node.replaceChildren(...parts(text, edits, (edit) => button(edit, edit === chosen, onOpen, onToggle)));
  if (focused >= 0) node.querySelectorAll("button")[focused]?.focus();
}

function button(edit, chosen, onOpen, onToggle) {
  const label = edit.undone ? `left as it was, not ${told(edit)}` : told(edit);
  return el(
    "button",
    {
      type: "button",
      className: `edit${edit.undone ? " undone" : ""}${edit.kept ? " kept" : ""}`,
      "aria-label": label,
      "aria-expanded": String(chosen),
      "aria-controls": "choice",
      onclick: () => onOpen(edit),
      onkeydown: (event) => {
        if (event.key !== "Delete" && event.key !== "Backspace") return;
        event.preventDefault();
        onToggle(edit);
      },
    },
    ...(edit.undone ? [edit.old.trim() || "‸"] : changed(edit)),
  );
}

/** The text between edits as strings, and each edit as the node that is made of it. */
function parts(text, edits, node) {
  const nodes = [];
  let at = 0;
  for (const edit of edits) {
    const [old, made] = [edit.old, edit.undone ? edit.old : edit.new];
    nodes.push(text.slice(at, edit.start), leading(old, made), node(edit), trailing(old, made));
    at = edit.end;
  }
  nodes.push(text.slice(at));
  return nodes.filter((one) => one !== "");
}

const leading = (old, made) => (/^\s/.test(made) || (!made.trim() && /^\s/.test(old)) ? " " : "");
const trailing = (old, made) => (/\s$/.test(made) && made.trim() ? " " : !made.trim() && /\s$/.test(old) ? " " : "");
