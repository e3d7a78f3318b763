(() => {
"use strict";
const root = document.documentElement;
const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
document.getElementById("theme")?.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; });

// A click on a heading sorts its table; rows without a value stay last.
const valueOf = (row, index) => row.cells[index].dataset.value ?? "";
const compare = (a, b, sign) => {
  if (a === "" || b === "") return (a === "") - (b === "");
  const numbers = [Number(a), Number(b)];
  return sign * (numbers.some(Number.isNaN) ? a.localeCompare(b) : numbers[0] - numbers[1]);
};
for (const table of document.querySelectorAll("table.board")) {
  table.tHead.addEventListener("click", (press) => {
    const head = press.target.closest("button")?.closest("th");
    if (!head) return;
    const next = head.getAttribute("aria-sort") ?? (head.dataset.first === "descending" ? "ascending" : "descending");
    const order = next === "ascending" ? "descending" : "ascending";
    for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => compare(valueOf(a, head.cellIndex), valueOf(b, head.cellIndex), order === "ascending" ? 1 : -1));
    table.tBodies[0].append(...rows);
  });
}

// Filters hide rows, and sections without rows.
const filters = document.getElementById("filters");
const apply = () => {
  const wanted = Object.fromEntries(new FormData(filters));
  const words = (wanted.search ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0, all = 0;
  for (const section of document.querySelectorAll("[data-group]")) {
    const fits = ["track", "people", "split"].every((key) => !wanted[key] || section.dataset[key] === wanted[key]);
    let inside = 0;
    for (const row of section.querySelectorAll("tbody tr")) {
      const text = row.dataset.search.toLowerCase();
      row.hidden = !(fits && words.every((word) => text.includes(word)) && (!wanted.verified || row.dataset.verified === "run again")
        && (!wanted.signed || row.dataset.signed) && (!wanted.fair || !row.dataset.privileged));
      all += 1;
      inside += !row.hidden;
    }
    section.hidden = !inside;
    shown += inside;
  }
  filters.querySelector("output").textContent = shown === all ? `${all} entries` : `${shown} of ${all} entries`;
};
if (filters) { filters.addEventListener("input", apply); filters.addEventListener("submit", (event) => event.preventDefault()); apply(); }
})();
