// The sheet behind "?": what the colours mean in this episode. The keys beside it stand in the page.

const GROUND_WORDS = {
  sidewalk: "sidewalk", crosswalk: "crosswalk", road: "road", kerb: "kerb", ramp: "ramp", island: "refuge island", verge: "verge", grass: "grass",
  frontage: "frontage", walkable: "floor", building: "building", obstacle: "obstacle", furniture: "furniture",
};

const legendOf = (episode) => {
  const kinds = new Set(episode.scene.layers.map((layer) => layer.kind)), events = new Map();
  for (const event of episode.events) events.set(EVENT_COLOUR(event.kind), [...(events.get(EVENT_COLOUR(event.kind)) ?? []), event.kind]);
  const describe = (list) => [...new Set(list)].map((kind) => kind.replace("_start", "").replaceAll("_", " ")).join(", ");
  return [
    ["robot", "robot and where it has been", "line"], ["goal", "goal", "dot"],
    ...(episode.plans ? [["plan", "where the robot means to go", "dots"]] : []),
    ...(episode.plans?.person.length ? [["forecast", "where it expects people, fading with time", "line"]] : []),
    ...(episode.heads ? [["quiet", "where somebody looks", "wedge"]] : []),
    ["hit", "contact, and who is touched", "dot"], ["warn", "personal space with the robot within", "ring"],
    ...Object.keys(GROUND_WORDS).filter((kind) => kinds.has(kind)).map((kind) => ["g-" + kind, GROUND_WORDS[kind], "area"]),
    ...[...events].map(([colour, list]) => [colour, `time line: ${describe(list)}`, `mark ${colour}`]),
  ];
};

const fillLegend = (list, episode) => list.replaceChildren(...legendOf(episode).map(([colour, text, shape]) => {
  const item = document.createElement("li"), swatch = document.createElement("i");
  swatch.className = shape; swatch.style.setProperty("--swatch", `var(--${colour})`);
  item.append(swatch, text);
  return item;
}));
