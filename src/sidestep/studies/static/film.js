"use strict";
// Tells the server which pieces of the film were played. It lets the participant rate when no piece is missing.
(() => {
const film = document.getElementById("film"), button = document.getElementById("rate"), data = document.body.dataset;
const position = Number(data.position), GAP_S = 0.8, EVERY_MS = 1000;
let played = Number(data.done), seen = played, busy = false;

film.addEventListener("loadedmetadata", () => { if (played > 0 && played < film.duration - 1) film.currentTime = played; check(); });
film.addEventListener("timeupdate", () => {
  if (!film.seeking && film.currentTime <= seen + GAP_S) seen = Math.max(seen, film.currentTime);
});
film.addEventListener("seeking", () => { if (film.currentTime > seen + GAP_S) film.currentTime = seen; });
film.addEventListener("ratechange", () => { if (film.playbackRate > 1) film.playbackRate = 1; });
film.addEventListener("ended", () => { seen = film.duration; tell(); });
function check() { button.disabled = !(film.duration && played >= film.duration - 0.9); }

async function tell() {
  if (busy || seen <= played) return;
  busy = true;
  try {
    const reply = await fetch(data.played, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ position, start: played, end: seen }),
    });
    if (reply.ok) { played = (await reply.json()).played; check(); }
    else if (reply.status === 409) location.reload();
  } catch { /* no connection: again below */ }
  busy = false;
}
setInterval(tell, EVERY_MS);
})();
