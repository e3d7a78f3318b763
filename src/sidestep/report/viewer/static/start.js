// Everything that the page holds comes to life here.

const data = JSON.parse(document.getElementById("replay-data").textContent);
const player = new Player(document.getElementById("player"), data);
// A link such as report.html#replay=2&t=4.5&view=top opens an episode at a moment.
const link = new URLSearchParams(location.hash.slice(1));
if (VIEWS.includes(link.get("view"))) player.setView(link.get("view"));
player.choose(0);
for (const element of document.querySelectorAll("[data-card]")) new Card(element, data);
document.getElementById("theme")?.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));

document.addEventListener("click", (press) => {
  const button = press.target.closest("[data-replay]");
  if (!button) return;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  player.choose(Number(button.dataset.replay));
  player.root.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "center" });
  player.part(player.view === "top" ? "flat" : "deep").focus({ preventScroll: true });
  player.setPlaying(!still);
});

if (link.get("replay") && data.episodes[Number(link.get("replay"))]) {
  player.choose(Number(link.get("replay")));
  player.root.scrollIntoView({ behavior: "instant" });
}
if (link.get("t")) player.seek(Number(link.get("t")) || 0);
