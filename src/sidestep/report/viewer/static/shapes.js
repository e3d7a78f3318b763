// Shapes as lists of numbers. Meshes: position, normal, colour per corner. Marks: position, colour with alpha.

const circle = (radius, corners = 32) => Array.from({ length: corners }, (_, k) => {
  const a = (2 * Math.PI * k) / corners;
  return [radius * Math.cos(a), radius * Math.sin(a)];
});
const grown = (ring, factor) => ring.map(([x, y]) => [x * factor, y * factor]);

const addTriangle = (out, a, b, c, normal, colour) => { for (const p of [a, b, c]) out.push(...p, ...normal, ...colour); };
const addQuad = (out, a, b, c, d, normal, colour) => { addTriangle(out, a, b, c, normal, colour); addTriangle(out, a, c, d, normal, colour); };

// A convex counter-clockwise outline between two heights, with a lid.
const addPrism = (out, ring, low, high, colour) => {
  ring.forEach(([x0, y0], k) => {
    const [x1, y1] = ring[(k + 1) % ring.length], normal = unit3([y1 - y0, x0 - x1, 0]);
    addQuad(out, [x0, y0, low], [x1, y1, low], [x1, y1, high], [x0, y0, high], normal, colour);
    if (k > 0) addTriangle(out, [...ring[0], high], [x0, y0, high], [x1, y1, high], [0, 0, 1], colour);
  });
};

// A machine standing at the origin, looking along +x.
const machineMesh = (footprint, height, colour, dark) => {
  const ring = footprint.radius ? circle(footprint.radius) : footprint.polygon, out = [];
  const size = footprint.radius || Math.max(...ring.map((p) => Math.abs(p[1])));
  const front = footprint.radius ? 0 : Math.max(...ring.map((p) => p[0])) - size, deck = 0.72 * height;
  addPrism(out, grown(ring, 0.86), 0, 0.12 * height, dark);
  addPrism(out, ring, 0.08 * height, deck, colour);
  addPrism(out, grown(ring, 0.62), deck, 0.86 * height, colour.map((v) => 0.75 * v + 0.2));
  addPrism(out, grown(ring, 0.3), 0.86 * height, height, dark);
  const tip = (x, y) => [front + x * size, y * size, deck + 0.004];
  addTriangle(out, tip(0.92, 0), tip(0.5, 0.36), tip(0.5, -0.36), [0, 0, 1], [1, 1, 1]);
  return out;
};

// The unit capsule that the capsule shader stretches: direction, and which end it belongs to.
const capsuleMesh = (around = 12, rings = 4) => {
  const rows = [], out = [];
  for (let k = 0; k <= 2 * rings + 1; k++) {
    const end = k > rings ? 1 : 0, angle = ((end ? k - rings - 1 : k - rings) / rings) * (Math.PI / 2);
    rows.push(Array.from({ length: around + 1 }, (_, j) => {
      const turn = (2 * Math.PI * j) / around;
      return [Math.cos(angle) * Math.cos(turn), Math.cos(angle) * Math.sin(turn), Math.sin(angle), end];
    }));
  }
  for (let k = 0; k + 1 < rows.length; k++)
    for (let j = 0; j < around; j++) {
      const [a, b, c, d] = [rows[k][j], rows[k][j + 1], rows[k + 1][j + 1], rows[k + 1][j]];
      out.push(...a, ...b, ...c, ...a, ...c, ...d);
    }
  return out;
};

const addRibbon = (out, points, width, colour, alphaOf) => {
  for (let k = 1; k < points.length; k++) {
    const [x0, y0] = points[k - 1], [x1, y1] = points[k], length = Math.hypot(x1 - x0, y1 - y0);
    if (length < 1e-4) continue;
    const nx = (-(y1 - y0) / length) * (width / 2), ny = ((x1 - x0) / length) * (width / 2);
    const a0 = alphaOf(points[k - 1]), a1 = alphaOf(points[k]);
    const corners = [[x0 + nx, y0 + ny, a0], [x0 - nx, y0 - ny, a0], [x1 - nx, y1 - ny, a1], [x1 + nx, y1 + ny, a1]];
    for (const i of [0, 1, 2, 0, 2, 3]) out.push(corners[i][0], corners[i][1], 0, ...colour, corners[i][2]);
  }
};
const addRingMark = (out, x, y, inner, outer, colour, alpha, corners = 40) => {
  const [small, large] = [circle(inner, corners), circle(outer, corners)];
  for (let k = 0; k < corners; k++) {
    const j = (k + 1) % corners;
    for (const p of [small[k], large[k], large[j], small[k], large[j], small[j]]) out.push(x + p[0], y + p[1], 0, ...colour, alpha);
  }
};
const addArrowMark = (out, [x, y], [vx, vy], seconds, colour, alpha) => {
  const dx = vx * seconds, dy = vy * seconds, length = Math.hypot(dx, dy);
  if (length < 0.15) return;
  const ux = dx / length, uy = dy / length, neck = Math.max(length - 0.24, 0);
  addRibbon(out, [[x, y], [x + ux * neck, y + uy * neck]], 0.07, colour, () => alpha);
  for (const [a, b] of [[length, 0], [neck, 0.12], [neck, -0.12]]) out.push(x + ux * a - uy * b, y + uy * a + ux * b, 0, ...colour, alpha);
};
