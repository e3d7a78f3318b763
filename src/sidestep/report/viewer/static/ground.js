// What stands still, painted from above: areas, lines on roads, crossings, a grid, solids and walls.

const SOLID_KINDS = ["solid", "building", "obstacle", "furniture"];
const isSolid = (layer) => SOLID_KINDS.includes(layer.kind);

// A map from metres to pixels: `left`, `top` in m at pixel (0, 0), `scale` in pixels per metre, y down.
const addRing = (c, v, ring) => {
  for (let i = 0; i < ring.length; i += 2) {
    const x = (ring[i] - v.left) * v.scale, y = (v.top - ring[i + 1]) * v.scale;
    if (i) c.lineTo(x, y); else c.moveTo(x, y);
  }
  c.closePath();
};

// Whether any of a layer lies in the picture.
const isInPicture = (c, v, layer) => {
  layer.box ??= layer.rings[0].reduce((b, value, i) => (i % 2 ? [b[0], Math.min(b[1], value), b[2], Math.max(b[3], value)] : [Math.min(b[0], value), b[1], Math.max(b[2], value), b[3]]), [Infinity, Infinity, -Infinity, -Infinity]);
  const [x0, y0, x1, y1] = layer.box;
  return x1 > v.left && x0 < v.left + c.canvas.width / v.scale && y0 < v.top && y1 > v.top - c.canvas.height / v.scale;
};

const fillLayer = (c, v, layer, colours) => {
  if (!isInPicture(c, v, layer)) return;
  c.beginPath();
  for (const ring of layer.rings) addRing(c, v, ring);
  c.fillStyle = colours["g-" + layer.kind]; c.fill("evenodd");
  if (layer.kind !== "crosswalk") return;
  c.save(); c.clip("evenodd"); c.fillStyle = colours["g-stripe"];
  for (const bar of layer.stripes) { c.beginPath(); addRing(c, v, bar); c.fill(); }
  c.restore();
};

// Lines on roads, [kind, width in m, points], never thinner than a pixel.
const paintStrokes = (c, v, strokes, colours) => {
  c.save(); c.lineCap = "butt"; c.lineJoin = "round";
  for (const [kind, width, points] of strokes) {
    c.strokeStyle = colours["g-" + { white: "stripe", yellow: "yellow", kerb: "kerb" }[kind]]; c.lineWidth = Math.max(1, width * v.scale);
    c.beginPath();
    for (let i = 0; i < points.length; i += 2) c.lineTo((points[i] - v.left) * v.scale, (v.top - points[i + 1]) * v.scale);
    c.stroke();
  }
  c.restore();
};

// Lines one or five metres apart, inside `floors` if given.
const paintGrid = (c, v, floors, colours) => {
  const { width, height } = c.canvas, step = v.scale >= 24 ? 1 : 5, right = v.left + width / v.scale, bottom = v.top - height / v.scale;
  c.save();
  if (floors) { c.beginPath(); for (const layer of floors) addRing(c, v, layer.rings[0]); c.clip(); }
  c.strokeStyle = colours.quiet; c.lineWidth = 1; c.globalAlpha = 0.12; c.beginPath();
  for (let x = Math.ceil(v.left / step) * step; x < right; x += step) { const p = Math.round((x - v.left) * v.scale) + 0.5; c.moveTo(p, 0); c.lineTo(p, height); }
  for (let y = Math.ceil(bottom / step) * step; y < v.top; y += step) { const p = Math.round((v.top - y) * v.scale) + 0.5; c.moveTo(0, p); c.lineTo(width, p); }
  c.stroke(); c.restore();
};

const paintWalls = (c, v, walls, colour) => {
  c.strokeStyle = colour; c.lineCap = "round"; c.lineWidth = clamp(0.06 * v.scale, 1.5, 4); c.beginPath();
  for (let i = 0; i < walls.length; i += 4) {
    c.moveTo((walls[i] - v.left) * v.scale, (v.top - walls[i + 1]) * v.scale);
    c.lineTo((walls[i + 2] - v.left) * v.scale, (v.top - walls[i + 3]) * v.scale);
  }
  c.stroke();
};

const paintGround = (c, v, scene, colours) => {
  c.fillStyle = scene.outside_solid ? colours["g-solid"] : colours.floor;
  c.fillRect(0, 0, c.canvas.width, c.canvas.height);
  const floors = scene.layers.filter((layer) => !isSolid(layer));
  for (const layer of floors.filter((l) => l.kind !== "crosswalk")) fillLayer(c, v, layer, colours);
  paintStrokes(c, v, scene.strokes, colours);
  for (const layer of floors.filter((l) => l.kind === "crosswalk")) fillLayer(c, v, layer, colours);
  paintGrid(c, v, scene.outside_solid ? floors : null, colours);
  for (const layer of scene.layers.filter(isSolid)) fillLayer(c, v, layer, colours);
  paintWalls(c, v, scene.walls, colours.wall);
};
