"use strict";
// Draws what a participant sees: walls by one ray per column, people and robots as standing shapes behind them.
const FirstPerson = (() => {
const EYE_M = 1.6, WALL_M = 2.6, FIELD_OF_VIEW = 1.5, COLUMNS = 320, NEAR_M = 0.05;

/** Distance along each column's ray to the nearest wall, and how much light it gets. */
function castRays(walls, eye, reach) {
  const far = new Float32Array(COLUMNS).fill(Infinity), light = new Float32Array(COLUMNS);
  const half = Math.tan(FIELD_OF_VIEW / 2), fx = Math.cos(eye.heading), fy = Math.sin(eye.heading);
  for (const [x0, y0, x1, y1] of walls) {
    // into the frame of the eye: u ahead, v to the right
    let au = (x0 - eye.x) * fx + (y0 - eye.y) * fy, av = (x0 - eye.x) * fy - (y0 - eye.y) * fx;
    let bu = (x1 - eye.x) * fx + (y1 - eye.y) * fy, bv = (x1 - eye.x) * fy - (y1 - eye.y) * fx;
    if (au < NEAR_M && bu < NEAR_M) continue;
    if (au < NEAR_M) { const t = (NEAR_M - au) / (bu - au); av += t * (bv - av); au = NEAR_M; }
    if (bu < NEAR_M) { const t = (NEAR_M - bu) / (au - bu); bv += t * (av - bv); bu = NEAR_M; }
    const ca = (av / au / half + 1) / 2 * COLUMNS, cb = (bv / bu / half + 1) / 2 * COLUMNS;
    const first = Math.max(0, Math.ceil(Math.min(ca, cb) - 0.5)), last = Math.min(COLUMNS - 1, Math.floor(Math.max(ca, cb) - 0.5));
    const facing = Math.abs(((x1 - x0) * 0.8 + (y1 - y0) * 0.6) / (Math.hypot(x1 - x0, y1 - y0) || 1));
    for (let c = first; c <= last; c += 1) {
      const slope = ((c + 0.5) / COLUMNS * 2 - 1) * half;
      const du = bu - au, dv = bv - av, under = dv - slope * du;
      const t = Math.abs(under) < 1e-9 ? 0 : (slope * au - av) / under;
      const u = au + Math.min(1, Math.max(0, t)) * du;
      if (u < far[c] && u < reach) { far[c] = u; light[c] = 0.55 + 0.35 * facing; }
    }
  }
  return { far, light, half };
}

function draw(context, scene, state, me) {
  const width = context.canvas.width, height = context.canvas.height, horizon = height * 0.46;
  const eye = { x: me[1], y: me[2], heading: me[3] };
  const { far, light, half } = castRays(scene.walls, eye, 80);
  const scale = width / 2 / half, column = width / COLUMNS;
  context.fillStyle = "#c9d3d9"; context.fillRect(0, 0, width, horizon);
  const floor = context.createLinearGradient(0, horizon, 0, height);
  floor.addColorStop(0, "#8d8a84"); floor.addColorStop(1, "#5e5b56");
  context.fillStyle = floor; context.fillRect(0, horizon, width, height - horizon);
  const things = [];
  for (const person of state.people) if (!person[6]) things.push({ x: person[1], y: person[2], heading: person[3], r: person[4], tall: 1.75, kind: "person", waves: person[5] !== "none" });
  things.push({ x: state.robot[0], y: state.robot[1], heading: state.robot[2], r: scene.robot_radius, tall: 1.1, kind: "robot" });
  for (const [x, y, heading] of state.others) things.push({ x, y, heading, r: 0.6, tall: 1.4, kind: "other" });
  const end = scene.path[scene.path.length - 1];
  if (end) things.push({ x: end[0], y: end[1], heading: 0, r: 0.1, tall: 2.2, kind: "goal" });
  const fx = Math.cos(eye.heading), fy = Math.sin(eye.heading);
  for (const thing of things) {
    thing.u = (thing.x - eye.x) * fx + (thing.y - eye.y) * fy;
    thing.v = (thing.x - eye.x) * fy - (thing.y - eye.y) * fx;
  }
  for (let c = 0; c < COLUMNS; c += 1) {
    if (far[c] === Infinity) continue;
    const shade = light[c] * Math.max(0.45, 1 - far[c] / 40), top = horizon - (WALL_M - EYE_M) * scale / far[c];
    const bottom = horizon + EYE_M * scale / far[c];
    context.fillStyle = `rgb(${225 * shade | 0},${221 * shade | 0},${210 * shade | 0})`;
    context.fillRect(Math.floor(c * column), top, Math.ceil(column) + 1, bottom - top);
  }
  const marks = scene.steps.map(([mx, my]) => ({ mx, my, size: 0.09, colour: "#2e7d32" }));
  if (scene.mark) marks.push({ mx: scene.mark[0], my: scene.mark[1], size: 0.3, colour: "#1565c0" });
  for (const { mx, my, size, colour } of marks) {
    const u = (mx - eye.x) * fx + (my - eye.y) * fy, v = (mx - eye.x) * fy - (my - eye.y) * fx;
    const c = Math.floor((v / u / half + 1) / 2 * COLUMNS);
    if (u < 0.3 || c < 0 || c >= COLUMNS || far[c] < u) continue;
    context.fillStyle = colour;
    context.beginPath(); context.ellipse(width / 2 + v / u * scale, horizon + EYE_M * scale / u, size * scale / u, size * EYE_M * scale / u / u, 0, 0, 7); context.fill();
  }
  things.sort((a, b) => b.u - a.u);
  for (const thing of things) if (thing.u > 0.2) standing(context, thing, eye, far, scale, horizon, column);
}

/** A thing, cut off where walls are nearer. */
function standing(context, thing, eye, far, scale, horizon, column) {
  const width = context.canvas.width, x = width / 2 + thing.v / thing.u * scale, w = thing.r * scale / thing.u;
  const bottom = horizon + EYE_M * scale / thing.u, top = bottom - thing.tall * scale / thing.u, h = bottom - top;
  context.save();
  context.beginPath();
  for (let c = Math.max(0, Math.floor((x - 2 * w) / column)); c <= Math.min(COLUMNS - 1, Math.ceil((x + 2 * w) / column)); c += 1) {
    if (thing.u < far[c] + thing.r) context.rect(Math.floor(c * column), 0, Math.ceil(column) + 1, context.canvas.height);
  }
  context.clip();
  const turn = thing.heading - Math.atan2(eye.y - thing.y, eye.x - thing.x), front = Math.cos(turn), side = -Math.sin(turn);
  context.fillStyle = "#0004";
  context.beginPath(); context.ellipse(x, bottom, w, w * 0.25, 0, 0, 7); context.fill();
  if (thing.kind === "goal") {
    context.fillStyle = "#2e7d32aa"; context.fillRect(x - w, top, 2 * w, h);
  } else if (thing.kind === "robot" || thing.kind === "other") {
    context.fillStyle = thing.kind === "robot" ? "#f4f6f8" : "#7986a0";
    context.beginPath(); context.roundRect(x - w, top + 0.25 * h, 2 * w, 0.75 * h, w * 0.3); context.fill();
    context.fillStyle = "#263238"; context.fillRect(x - 0.8 * w, top + 0.88 * h, 1.6 * w, 0.12 * h);
    context.fillStyle = "#b0bec5"; context.fillRect(x - 0.12 * w, top + 0.1 * h, 0.24 * w, 0.2 * h);
    context.beginPath(); context.roundRect(x - 0.45 * w, top, 0.9 * w, 0.2 * h, w * 0.15); context.fill();
    if (front > 0) {
      context.fillStyle = "#00acc1"; // the side where it drives to
      context.fillRect(x + side * w * 0.6 - 0.28 * w, top + 0.05 * h, 0.56 * w, 0.09 * h);
      context.fillRect(x + side * w * 0.6 - 0.35 * w, top + 0.42 * h, 0.7 * w, 0.08 * h);
    }
  } else {
    context.fillStyle = "#2b3a55"; context.fillRect(x - 0.55 * w, top + 0.5 * h, 1.1 * w, 0.5 * h);
    context.fillStyle = "#8e3b46"; context.beginPath(); context.roundRect(x - 0.85 * w, top + 0.17 * h, 1.7 * w, 0.38 * h, w * 0.3); context.fill();
    if (thing.waves) { context.strokeStyle = "#8e3b46"; context.lineWidth = Math.max(2, 0.25 * w); context.beginPath(); context.moveTo(x + 0.8 * w, top + 0.22 * h); context.lineTo(x + 1.4 * w, top + 0.02 * h); context.stroke(); }
    context.fillStyle = "#c99a7c"; context.beginPath(); context.arc(x, top + 0.085 * h, 0.08 * h, 0, 7); context.fill();
    if (front < 0) { context.fillStyle = "#4a3426"; context.beginPath(); context.arc(x, top + 0.075 * h, 0.08 * h, 0, 7); context.fill(); }
  }
  context.restore();
}

return { draw };
})();
