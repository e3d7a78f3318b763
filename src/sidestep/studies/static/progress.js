"use strict";
// Keeps the table of participants up to date.
(() => {
const rows = document.getElementById("people");
async function look() {
  try {
    const reply = await fetch(document.body.dataset.progress);
    if (reply.ok) {
      for (const person of await reply.json()) {
        const row = rows.querySelector(`tr[data-number="${person.number}"]`);
        if (!row) { location.reload(); return; }
        for (const cell of row.querySelectorAll("[data-cell]")) cell.textContent = person[cell.dataset.cell];
        row.querySelector("progress").value = person.done;
      }
    }
  } catch { /* the server is away: again below */ }
  setTimeout(look, 2000);
}
setTimeout(look, 2000);
})();
