// The episode from above on a 2D canvas.

const TRAIL_S = 2.5, FLASH_S = 0.8, PERSONAL_SPACE_M = 1.2, ARROW_S = 0.8;

const fitCanvas = (canvas) => {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  return ratio;
};
const disc = (c, x, y, r) => { c.beginPath(); c.arc(x, y, Math.max(r, 0), 0, 2 * Math.PI); };

// The corners of the convex hull of points, counter-clockwise.
const hullOf = (points) => {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (list) => {
    const out = [];
    const turnsRight = (q) => (out.at(-1)[0] - out.at(-2)[0]) * (q[1] - out.at(-2)[1]) - (out.at(-1)[1] - out.at(-2)[1]) * (q[0] - out.at(-2)[0]) <= 0;
    for (const q of list) { while (out.length > 1 && turnsRight(q)) out.pop(); out.push(q); }
    out.pop();
    return out;
  };
  return [...half(sorted), ...half(sorted.reverse())];
};

// The people of every group of two or more who are there, as lists of indices.
const groupsOf = (episode, poses, time) => {
  const groups = new Map();
  poses.forEach((p, i) => {
    const number = episode.groupAt(i, time);
    if (p && number >= 0) groups.set(number, [...(groups.get(number) || []), i]);
  });
  return [...groups.values()].filter((members) => members.length > 1);
};

// A forecast is the fainter the farther ahead.
const forecastAlpha = (ahead, longest) => 0.12 + 0.78 * Math.max(0, 1 - ahead / (longest + 1e-6));

class TopView {
  constructor(canvas) { this.canvas = canvas; this.still = null; this.key = ""; }

  show(episode, colours) { this.episode = episode; this.colours = colours; this.key = ""; }

  // `view`: {x, y, scale} with the scale in CSS pixels per metre; `shown`: which extras to paint.
  paint(time, view, shown) {
    const ratio = fitCanvas(this.canvas), c = this.c = this.canvas.getContext("2d"), e = this.episode, { width, height } = this.canvas;
    const scale = view.scale * ratio;
    this.v = { scale, left: view.x - width / scale / 2, top: view.y + height / scale / 2 };
    this.line = Math.max(1, Math.min(width, height) / 450);
    const { dx, dy } = this.#ground();
    c.drawImage(this.still, dx, dy);
    const f = e.frameAt(time), poses = e.peopleAt(f), touched = e.touched(time);
    if (shown.lidar) this.#lidar(f);
    this.#task();
    if (shown.trails) this.#trails(f, poses);
    if (shown.plans) this.#plans(f, poses);
    for (const members of groupsOf(e, poses, f.time)) this.#group(members, poses);
    poses.forEach((p, i) => { if (p) this.#person(p, i, f, shown, touched.has(i)); });
    this.#contacts(time, false);
    e.other_body.forEach((body, i) => { const p = e.otherAt(i, f); if (p) this.#machine(p, body, this.colours.quiet); });
    const robot = e.robotAt(f);
    if (shown.arrows) this.#arrow(robot, e.robotVelocity(f), this.colours.robot);
    this.#machine(robot, e.footprint, this.colours.robot);
    this.#contacts(time, true);
    if (shown.scale !== false) this.#scaleBar(ratio);
  }

  x(metres) { return (metres - this.v.left) * this.v.scale; }
  y(metres) { return (this.v.top - metres) * this.v.scale; }

  // Painted with a margin, and again only when the view has left it or changed in size: whoever follows the robot moves a picture.
  #ground() {
    const { width, height } = this.canvas, { scale, left, top } = this.v, key = [width, height, scale].join();
    const margin = Math.round(Math.max(width, height) * 0.3);
    const offset = () => ({ dx: Math.round((this.origin.left - left) * scale), dy: Math.round((top - this.origin.top) * scale) });
    if (this.key === key) { const { dx, dy } = offset(); if (dx <= 0 && dy <= 0 && dx >= -2 * margin && dy >= -2 * margin) return { dx, dy }; }
    this.key = key;
    this.origin = { scale, left: left - margin / scale, top: top + margin / scale };
    this.still ??= document.createElement("canvas");
    this.still.width = width + 2 * margin; this.still.height = height + 2 * margin;
    paintGround(this.still.getContext("2d"), this.origin, this.episode.scene, this.colours);
    return offset();
  }

  // Where a point of the world is in the picture, CSS pixels; a height is drawn as a little upward.
  project([x, y, z]) { const ratio = Math.min(devicePixelRatio || 1, 2); return [this.x(x) / ratio, this.y(y) / ratio - Math.max(10, 0.16 * z * this.v.scale / ratio)]; }

  // The plan as a line with a dot per point; forecasts as lines that fade.
  #plans(f, poses) {
    const { c, line, colours, episode: e } = this, { plan, forecasts } = e.plansAt(f, poses);
    c.lineCap = "round"; c.lineWidth = clamp(0.06 * this.v.scale, 1.5 * line, 4 * line);
    for (const { person, points } of forecasts) {
      c.strokeStyle = e.colours[person];
      for (let k = 1; k < points.length; k++) {
        c.globalAlpha = forecastAlpha(points[k][2], points.at(-1)[2]);
        c.beginPath(); c.moveTo(this.x(points[k - 1][0]), this.y(points[k - 1][1])); c.lineTo(this.x(points[k][0]), this.y(points[k][1])); c.stroke();
      }
    }
    c.globalAlpha = 1; c.strokeStyle = c.fillStyle = colours.plan;
    c.beginPath(); for (const [x, y] of plan) c.lineTo(this.x(x), this.y(y)); c.stroke();
    for (const [x, y] of plan.slice(1)) { disc(c, this.x(x), this.y(y), clamp(0.06 * this.v.scale, 1.8 * line, 4 * line)); c.fill(); }
  }

  #task() {
    const { c, line, episode: e, colours } = this, gx = this.x(e.goal[0]), gy = this.y(e.goal[1]);
    c.lineWidth = 1.5 * line; c.strokeStyle = colours.robot; c.globalAlpha = 0.8; disc(c, this.x(e.robot[0]), this.y(e.robot[1]), 4.5 * line); c.stroke();
    c.fillStyle = colours.goal; c.globalAlpha = 0.16; disc(c, gx, gy, e.goal_radius * this.v.scale); c.fill();
    c.globalAlpha = 1; c.strokeStyle = colours.goal; c.stroke();
    const star = Math.max(7 * line, 0.22 * this.v.scale);
    c.beginPath();
    for (let k = 0; k < 10; k++) { const q = k % 2 ? 0.45 * star : star, a = (k * Math.PI) / 5; c.lineTo(gx + q * Math.sin(a), gy - q * Math.cos(a)); }
    c.closePath(); c.strokeStyle = colours.halo; c.lineWidth = 3 * line; c.lineJoin = "round"; c.stroke(); c.fill();
  }

  #trails(f, poses) {
    const { c, line, episode: e } = this;
    c.lineCap = "butt"; c.lineWidth = clamp(0.09 * this.v.scale, 1.5 * line, 5 * line);
    poses.forEach((p, i) => {
      if (!p) return;
      const points = e.personTrail(i, f, TRAIL_S);
      c.strokeStyle = e.colours[i];
      for (let k = 1; k < points.length; k++) {
        c.globalAlpha = 0.55 * Math.pow(1 - points[k][2] / TRAIL_S, 1.5) || 0;
        c.beginPath(); c.moveTo(this.x(points[k - 1][0]), this.y(points[k - 1][1])); c.lineTo(this.x(points[k][0]), this.y(points[k][1])); c.stroke();
      }
    });
    c.globalAlpha = 0.85; c.lineCap = c.lineJoin = "round"; c.strokeStyle = this.colours.robot; c.lineWidth = clamp(0.12 * this.v.scale, 2 * line, 6 * line);
    for (const points of e.robotTrails(f)) { c.beginPath(); for (const [x, y] of points) c.lineTo(this.x(x), this.y(y)); c.stroke(); }
    c.globalAlpha = 1;
  }

  // One opaque shape on a layer of its own, so that fill and outline do not add up.
  #group(members, poses) {
    const { c, episode: e } = this, points = members.map((i) => [this.x(poses[i][0]), this.y(poses[i][1])]);
    const corners = points.length > 2 ? hullOf(points) : points, layer = (this.layer ??= document.createElement("canvas"));
    layer.width = this.canvas.width; layer.height = this.canvas.height;
    const d = layer.getContext("2d");
    d.lineJoin = d.lineCap = "round"; d.lineWidth = 2 * (Math.max(...members.map((i) => e.radius[i])) + 0.15) * this.v.scale;
    d.strokeStyle = d.fillStyle = e.colours[members[0]];
    d.beginPath(); corners.forEach((p, i) => (i ? d.lineTo(...p) : d.moveTo(...p))); d.closePath(); d.stroke(); d.fill();
    c.globalAlpha = 0.2; c.drawImage(layer, 0, 0); c.globalAlpha = 1;
  }

  #person(p, i, f, shown, touched) {
    const { c, line, colours, episode: e } = this, x = this.x(p[0]), y = this.y(p[1]), r = e.radius[i] * this.v.scale, colour = touched ? colours.hit : e.colours[i];
    if (shown.space) {
      const robot = e.robotAt(f), near = Math.hypot(robot[0] - p[0], robot[1] - p[1]) < e.radius[i] + PERSONAL_SPACE_M;
      c.strokeStyle = c.fillStyle = near ? colours.warn : colour; c.lineWidth = line * (near ? 1.6 : 1); disc(c, x, y, r + PERSONAL_SPACE_M * this.v.scale);
      c.globalAlpha = near ? 0.13 : 0.05; c.fill(); c.globalAlpha = near ? 0.9 : 0.5; c.stroke(); c.globalAlpha = 1;
    }
    c.fillStyle = colours.dark; c.globalAlpha = 0.09; disc(c, x, y + 0.14 * r, 1.14 * r); c.fill();
    c.globalAlpha = 0.4; c.fillStyle = colour; disc(c, x, y, r); c.fill(); c.globalAlpha = 1;
    c.save(); c.translate(x, y); c.rotate(-p[2]);
    c.lineCap = "round"; c.strokeStyle = colours.halo; c.lineWidth = 0.92 * r; c.beginPath(); c.moveTo(0, -0.5 * r); c.lineTo(0, 0.5 * r); c.stroke();
    c.strokeStyle = colour; c.lineWidth = 0.76 * r; c.stroke();
    c.fillStyle = colours.dark; c.globalAlpha = 0.55;
    c.beginPath(); c.moveTo(0.84 * r, 0); c.lineTo(0.28 * r, 0.26 * r); c.arc(0, 0, 0.38 * r, 0.75, -0.75); c.closePath(); c.fill();
    c.restore(); c.globalAlpha = 1;
    const yaw = e.headAt(i, f);
    if (yaw !== null) this.#gaze(x, y, p[2] + yaw, r);
    if (shown.arrows) this.#arrow(p, e.personVelocity(i, f), colours.quiet);
  }

  // Where somebody looks: a wedge before the head.
  #gaze(x, y, angle, r) {
    const { c, colours } = this;
    c.fillStyle = colours.ink; c.globalAlpha = 0.28; c.beginPath(); c.moveTo(x, y); c.arc(x, y, 2.4 * r, -angle - 0.32, -angle + 0.32); c.closePath(); c.fill();
    c.globalAlpha = 1;
  }

  #machine(pose, footprint, colour) {
    const { c, colours } = this, scale = this.v.scale;
    c.save(); c.translate(this.x(pose[0]), this.y(pose[1])); c.rotate(-pose[2]); c.scale(scale, -scale);
    c.beginPath();
    const polygon = footprint.polygon, size = footprint.radius || Math.max(...polygon.map((p) => Math.abs(p[1])));
    const shift = footprint.radius ? 0 : Math.max(...polygon.map((p) => p[0])) - size;
    if (footprint.radius) c.arc(0, 0, footprint.radius, 0, 2 * Math.PI);
    else { polygon.forEach((p, i) => (i ? c.lineTo(...p) : c.moveTo(...p))); c.closePath(); }
    c.shadowColor = "rgba(0,0,0,.35)"; c.shadowBlur = 0.25 * scale; c.fillStyle = colour; c.fill();
    c.shadowColor = "transparent"; c.lineWidth = 0.06; c.strokeStyle = colours.halo; c.stroke(); c.fill();
    c.fillStyle = "#fff"; c.beginPath();
    [[0.72, 0], [-0.34, 0.46], [-0.12, 0], [-0.34, -0.46]].forEach(([a, b], i) => { const p = [shift + a * size, b * size]; if (i) c.lineTo(...p); else c.moveTo(...p); });
    c.fill(); c.restore();
  }

  #contacts(time, flashes) {
    const { c, line, colours } = this;
    for (const event of this.episode.contacts(time)) {
      const x = this.x(event.x), y = this.y(event.y), spent = (time - event.time) / FLASH_S;
      if (!flashes) {
        c.fillStyle = colours.halo; disc(c, x, y, 3.6 * line); c.fill(); c.fillStyle = colours.hit; disc(c, x, y, 2.6 * line); c.fill();
      } else if (spent < 1) {
        c.globalAlpha = 1 - 0.75 * spent; c.strokeStyle = colours.hit; c.lineWidth = 2.5 * line; disc(c, x, y, (0.55 + 0.5 * spent) * this.v.scale); c.stroke();
        c.globalAlpha = 0.25 * (1 - spent); c.fillStyle = colours.hit; c.fill(); c.globalAlpha = 1;
      }
    }
  }

  #arrow([px, py], [vx, vy], colour) {
    const { c, line } = this, x = this.x(px), y = this.y(py), dx = vx * ARROW_S * this.v.scale, dy = -vy * ARROW_S * this.v.scale;
    const length = Math.hypot(dx, dy), head = 6 * line;
    if (length < head) return;
    const a = Math.atan2(dy, dx), nx = x + dx * (1 - head / length), ny = y + dy * (1 - head / length);
    c.strokeStyle = c.fillStyle = colour; c.lineWidth = 1.8 * line; c.beginPath(); c.moveTo(x, y); c.lineTo(nx, ny); c.stroke();
    c.beginPath(); c.moveTo(x + dx, y + dy); c.lineTo(nx - Math.sin(a) * head / 2, ny + Math.cos(a) * head / 2); c.lineTo(nx + Math.sin(a) * head / 2, ny - Math.cos(a) * head / 2); c.fill();
  }

  #lidar(f) {
    const { c, line, colours } = this, { x: sx, y: sy, hits } = scan(this.episode, f);
    c.beginPath(); if (!this.episode.lidar.round) c.moveTo(this.x(sx), this.y(sy)); for (const [x, y] of hits) c.lineTo(this.x(x), this.y(y)); c.closePath();
    c.globalAlpha = 0.08; c.fillStyle = colours.robot; c.fill(); c.globalAlpha = 0.8;
    for (const [x, y, hit] of hits) if (hit) { disc(c, this.x(x), this.y(y), 1.4 * line); c.fill(); }
    c.globalAlpha = 1;
  }

  #scaleBar(ratio) {
    const { c, colours, canvas } = this, scale = this.v.scale, x = 14 * ratio, y = canvas.height - 14 * ratio;
    const metres = [50, 20, 10, 5, 2, 1, 0.5].find((m) => m * scale <= canvas.width * 0.22) || 0.5;
    c.strokeStyle = c.fillStyle = colours.ink; c.globalAlpha = 0.75; c.lineWidth = 2 * ratio; c.lineCap = "round";
    c.beginPath(); c.moveTo(x, y); c.lineTo(x + metres * scale, y); c.stroke();
    c.font = `${12 * ratio}px system-ui, sans-serif`; c.fillText(`${metres} m`, x, y - 7 * ratio); c.globalAlpha = 1;
  }
}
