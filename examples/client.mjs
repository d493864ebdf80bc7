// A client of `masker serve` in ten lines of JavaScript: node examples/client.mjs positive "The worst pizza ever."
const [to, text] = process.argv.slice(2);
const answer = await fetch("http://127.0.0.1:8000/v1/edit", {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ text, to }),
});
const told = await answer.json();
if (!answer.ok) throw new Error(told.error);
for (const edit of told.edits) console.error(`${edit.old} -> ${edit.new}`);
console.log(told.text);
