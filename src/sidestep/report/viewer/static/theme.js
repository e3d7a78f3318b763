// Colours come from the page's style sheet, so that light and dark are written once.

const COLOUR_NAMES = ["paper", "card", "ink", "quiet", "line", "floor", "wall", "robot", "robot-slow", "goal", "hit", "warn", "halo", "dark", "sky", "plan", "e-trigger", "e-reset", "e-group", "e-route",
  ...["solid", "building", "obstacle", "furniture", "walkable", "sidewalk", "road", "crosswalk", "stripe", "yellow", "kerb", "verge", "frontage", "grass", "ramp", "island"].map((kind) => "g-" + kind)];

const readColours = () => {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(COLOUR_NAMES.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
};

// "#rrggbb" → [r, g, b] in 0 … 1.
const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);

const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const setTheme = (theme) => { document.documentElement.dataset.theme = theme; dispatchEvent(new Event("themechange")); };
const onThemeChange = (callback) => {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", callback);
  addEventListener("themechange", callback);
};
