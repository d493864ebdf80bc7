// The state of the page in the fragment of its address, which no browser sends to a server.

export function read() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const strength = Number(fields.get("strength"));
  return {
    text: fields.get("text"),
    from: fields.get("from"),
    to: fields.get("to"),
    strength: strength >= 0.5 && strength < 1 ? strength : null,
    keep: fields.getAll("keep"),
    many: fields.has("many"),
  };
}

export function write({ text, from, to, strength, keep, many }) {
  const fields = new URLSearchParams();
  if (from) fields.set("from", from);
  if (to) fields.set("to", to);
  if (strength) fields.set("strength", strength);
  for (const word of keep) fields.append("keep", word);
  if (many) fields.set("many", "");
  else if (text) fields.set("text", text);
  history.replaceState(null, "", `#${fields}`);
}
