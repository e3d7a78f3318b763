"use strict";
// Every answer is sent when it is given, one after another, and again until the server has stored it. The key makes
// the same answer recognisable, so that sending it twice stores it once.
(() => {
const form = document.getElementById("ratings"), trouble = document.getElementById("trouble");
const position = Number(document.body.dataset.position), address = document.body.dataset.answer;
const texts = JSON.parse(document.body.dataset.texts), queue = [];
let busy = false, leaving = false;

const newKey = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(18));
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_");
};
const note = (answer, text) => {
  form.querySelector(`fieldset[data-item="${CSS.escape(answer.item)}"] .saved`).textContent = text;
};

async function work() {
  if (busy) return;
  busy = true;
  let wait = 300;
  while (queue.length) {
    const answer = queue[0];
    try {
      const reply = await fetch(address, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(answer), keepalive: true,
      });
      if (reply.ok) { queue.shift(); note(answer, texts["✓ stored"]); trouble.textContent = ""; wait = 300; continue; }
      if (reply.status < 500 && reply.status !== 429) {
        const refusal = await reply.json().catch(() => ({ message: texts["the answer was refused"] }));
        queue.shift(); note(answer, ""); trouble.textContent = refusal.message; continue;
      }
    } catch { /* no connection: again below */ }
    trouble.textContent = texts["No connection. Your answers are kept here and sent again …"];
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(4000, wait * 2);
  }
  busy = false;
  if (leaving) send();
}

form.addEventListener("change", (event) => {
  if (event.target.type !== "radio") return;
  const item = event.target.closest("fieldset").dataset.item;
  const key = newKey();
  form.elements[`k-${item}`].value = key;
  const answer = { position, item, rating: Number(event.target.value), key };
  queue.push(answer);
  note(answer, "…");
  work();
});

function send() {
  const button = form.querySelector("button");
  button.disabled = true;
  setTimeout(() => { button.disabled = false; leaving = false; }, 4000); // the page is still here: the server was not
  form.submit();
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (leaving) return;
  leaving = true;
  if (!busy) send();
});
addEventListener("beforeunload", (event) => { if (queue.length && !leaving) event.preventDefault(); });
})();
