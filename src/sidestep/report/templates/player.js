// The replay player: reads the JSON in #replay-data, paints a canvas. Text only ever enters the page as textContent.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("replay-data").textContent);
  const $ = (id) => document.getElementById(id);
  const world = $("world"), strip = $("strip"), play = $("play"), scrub = $("scrub");
  const ABSENT = -32768, TRAIL_S = 2.5, FLASH_S = 0.8, PERSONAL_SPACE_M = 1.2;
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;

  const int16 = (text) => {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    const view = new DataView(bytes.buffer), out = new Int16Array(raw.length / 2);
    for (let i = 0; i < out.length; i++) out[i] = view.getInt16(2 * i, true);
    return out;
  };

  // Unpacked episode: robot [x, y, heading] per frame; people [x, y, heading] per frame and person.
  const unpack = (e) => {
    const unit = e.unit, angle = data.angle_unit, [ox, oy] = e.origin;
    const decode = (packed) => {
      const out = new Float32Array(packed.length);
      for (let i = 0; i < packed.length; i += 3) {
        if (packed[i] === ABSENT) { out[i] = out[i + 1] = out[i + 2] = NaN; continue; }
        out[i] = ox + packed[i] * unit; out[i + 1] = oy + packed[i + 1] * unit; out[i + 2] = packed[i + 2] * angle;
      }
      return out;
    };
    const robot = decode(int16(e.robot)), people = decode(int16(e.people)), others = decode(int16(e.others));
    const gaps = Float32Array.from(int16(e.gaps), (g) => (g === ABSENT ? Infinity : g * data.gap_unit));
    return { ...e, robot, people, others, gaps, scene: data.scenes[e.scene], duration: e.times[e.times.length - 1] };
  };

  let episode = null, time = 0, playing = false, before = 0, ground = null;
  const colours = {};
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "card", "ink", "quiet", "line", "floor", "grid", "wall", "robot", "robot-slow", "goal", "hit", "halo", "dark"])
      colours[name] = style.getPropertyValue("--" + name).trim();
    for (const kind of ["solid", "building", "obstacle", "furniture", "walkable", "sidewalk", "road", "crosswalk", "stripe", "kerb", "verge", "frontage", "grass", "ramp"])
      colours["g-" + kind] = style.getPropertyValue("--g-" + kind).trim();
    ground = null;
  };

  const fit = (canvas) => {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; ground = null; }
    return ratio;
  };

  const viewOf = () => {
    const [x0, y0, x1, y1] = episode.view;
    const scale = Math.min(world.width / (x1 - x0), world.height / (y1 - y0));
    return { scale, left: (x0 + x1) / 2 - world.width / scale / 2, top: (y0 + y1) / 2 + world.height / scale / 2 };
  };

  const addRing = (c, v, ring) => {
    for (let i = 0; i < ring.length; i += 2) {
      const x = (ring[i] - v.left) * v.scale, y = (v.top - ring[i + 1]) * v.scale;
      if (i) c.lineTo(x, y); else c.moveTo(x, y);
    }
    c.closePath();
  };

  // Lines one or five metres apart, inside ``floors`` if given.
  const paintGrid = (c, v, floors) => {
    const step = v.scale >= 24 ? 1 : 5, right = v.left + world.width / v.scale, bottom = v.top - world.height / v.scale;
    c.save();
    if (floors) { c.beginPath(); for (const layer of floors) addRing(c, v, layer.rings[0]); c.clip(); }
    c.strokeStyle = colours.quiet; c.lineWidth = 1; c.globalAlpha = 0.1; c.beginPath();
    for (let x = Math.ceil(v.left / step) * step; x < right; x += step) { const p = Math.round((x - v.left) * v.scale) + 0.5; c.moveTo(p, 0); c.lineTo(p, world.height); }
    for (let y = Math.ceil(bottom / step) * step; y < v.top; y += step) { const p = Math.round((v.top - y) * v.scale) + 0.5; c.moveTo(0, p); c.lineTo(world.width, p); }
    c.stroke(); c.restore();
  };

  const paintGround = (v) => {
    ground = document.createElement("canvas");
    ground.width = world.width; ground.height = world.height;
    const c = ground.getContext("2d"), scene = episode.scene;
    c.fillStyle = scene.outside_solid ? colours["g-solid"] : colours.floor;
    c.fillRect(0, 0, ground.width, ground.height);
    const fill = (layer) => {
      c.beginPath();
      for (const ring of layer.rings) addRing(c, v, ring);
      c.fillStyle = colours["g-" + layer.kind]; c.fill("evenodd");
      if (layer.kind !== "crosswalk") return;
      c.save(); c.clip("evenodd"); c.fillStyle = colours["g-stripe"];
      for (const bar of layer.stripes) { c.beginPath(); addRing(c, v, bar); c.fill(); }
      c.restore();
    };
    const solid = (layer) => ["solid", "building", "obstacle", "furniture"].includes(layer.kind);
    scene.layers.filter((layer) => !solid(layer)).forEach(fill);
    paintGrid(c, v, scene.outside_solid ? scene.layers.filter((layer) => !solid(layer)) : null);
    scene.layers.filter(solid).forEach(fill);
    c.strokeStyle = colours.wall; c.lineCap = "round"; c.lineWidth = Math.max(1.5, Math.min(0.06 * v.scale, 4)); c.beginPath();
    for (let i = 0; i < scene.walls.length; i += 4) {
      c.moveTo((scene.walls[i] - v.left) * v.scale, (v.top - scene.walls[i + 1]) * v.scale);
      c.lineTo((scene.walls[i + 2] - v.left) * v.scale, (v.top - scene.walls[i + 3]) * v.scale);
    }
    c.stroke();
  };

  const frameAt = (t) => {
    const times = episode.times;
    let low = 0, high = times.length - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (times[middle] <= t) low = middle; else high = middle; }
    const span = times[high] - times[low];
    return { k: low, next: high, share: span > 0 ? Math.min(Math.max((t - times[low]) / span, 0), 1) : 0 };
  };
  // A pose between two frames; absent where it is absent in the frame shown.
  const poseAt = (array, count, index, f) => {
    const a = 3 * (f.k * count + index), b = 3 * (f.next * count + index);
    if (Number.isNaN(array[a])) return f.share > 0.999 && !Number.isNaN(array[b]) ? [array[b], array[b + 1], array[b + 2]] : null;
    if (Number.isNaN(array[b])) return f.share > 0.999 ? null : [array[a], array[a + 1], array[a + 2]];
    const turn = Math.atan2(Math.sin(array[b + 2] - array[a + 2]), Math.cos(array[b + 2] - array[a + 2]));
    return [array[a] + (array[b] - array[a]) * f.share, array[a + 1] + (array[b + 1] - array[a + 1]) * f.share, array[a + 2] + turn * f.share];
  };

  const disc = (c, x, y, r) => { c.beginPath(); c.arc(x, y, Math.max(r, 0), 0, 2 * Math.PI); };

  const paintTrail = (c, v, array, count, index, f, seconds, colour, width, fade) => {
    const first = seconds === Infinity ? 0 : frameAt(Math.max(0, time - seconds)).k, now = poseAt(array, count, index, f);
    c.strokeStyle = colour; c.lineWidth = width; c.lineCap = "round"; c.lineJoin = "round";
    const at = (k) => { const j = 3 * (k * count + index); return [(array[j] - v.left) * v.scale, (v.top - array[j + 1]) * v.scale]; };
    if (!fade) {
      c.globalAlpha = 0.85; c.beginPath();
      for (let k = first; k <= f.k; k++) { const [x, y] = at(k); if (k > first) c.lineTo(x, y); else c.moveTo(x, y); }
      if (now) c.lineTo((now[0] - v.left) * v.scale, (v.top - now[1]) * v.scale);
      c.stroke();
    } else {
      c.lineCap = "butt";
      for (let k = first; k < f.k; k++) {
        const [x0, y0] = at(k), [x1, y1] = at(k + 1);
        if (Number.isNaN(x0 + x1)) continue;
        c.globalAlpha = 0.55 * Math.pow((k + 1 - first) / Math.max(1, f.k + 1 - first), 1.5);
        c.beginPath(); c.moveTo(x0, y0); c.lineTo(x1, y1); c.stroke();
      }
      if (now && !Number.isNaN(at(f.k)[0])) {
        c.globalAlpha = 0.55; c.beginPath(); c.moveTo(...at(f.k)); c.lineTo((now[0] - v.left) * v.scale, (v.top - now[1]) * v.scale); c.stroke();
      }
    }
    c.globalAlpha = 1;
  };

  const hullOf = (points) => {
    const p = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const half = (list) => { const out = []; for (const q of list) { while (out.length > 1 && (out.at(-1)[0] - out.at(-2)[0]) * (q[1] - out.at(-2)[1]) - (out.at(-1)[1] - out.at(-2)[1]) * (q[0] - out.at(-2)[0]) <= 0) out.pop(); out.push(q); } out.pop(); return out; };
    return [...half(p), ...half(p.reverse())];
  };

  const paintPerson = (c, x, y, heading, r, colour) => {
    c.fillStyle = colours.dark; c.globalAlpha = 0.09; disc(c, x, y + 0.14 * r, 1.14 * r); c.fill();
    c.globalAlpha = 0.4; c.fillStyle = colour; disc(c, x, y, r); c.fill(); c.globalAlpha = 1;
    c.save(); c.translate(x, y); c.rotate(-heading);
    c.lineCap = "round"; c.strokeStyle = colours.halo; c.lineWidth = 0.92 * r; c.beginPath(); c.moveTo(0, -0.5 * r); c.lineTo(0, 0.5 * r); c.stroke();
    c.strokeStyle = colour; c.lineWidth = 0.76 * r; c.stroke();
    c.fillStyle = colours.dark; c.globalAlpha = 0.55;
    c.beginPath(); c.moveTo(0.84 * r, 0); c.lineTo(0.28 * r, 0.26 * r); c.arc(0, 0, 0.38 * r, 0.75, -0.75); c.closePath(); c.fill();
    c.restore(); c.globalAlpha = 1;
  };

  const paintMachine = (c, v, pose, footprint, colour) => {
    const x = (pose[0] - v.left) * v.scale, y = (v.top - pose[1]) * v.scale;
    c.save(); c.translate(x, y); c.rotate(-pose[2]); c.scale(v.scale, -v.scale);
    c.beginPath();
    const polygon = footprint.polygon, size = footprint.radius || Math.max(...polygon.map((p) => Math.abs(p[1])));
    const shift = footprint.radius ? 0 : Math.max(...polygon.map((p) => p[0])) - size;
    if (footprint.radius) c.arc(0, 0, footprint.radius, 0, 2 * Math.PI);
    else { polygon.forEach((p, i) => (i ? c.lineTo(...p) : c.moveTo(...p))); c.closePath(); }
    c.shadowColor = "rgba(0,0,0,.35)"; c.shadowBlur = 0.25 * v.scale; c.fillStyle = colour; c.fill();
    c.shadowColor = "transparent"; c.lineWidth = 0.06; c.strokeStyle = colours.halo; c.stroke(); c.fill();
    c.fillStyle = "#fff"; c.beginPath();
    [[0.72, 0], [-0.34, 0.46], [-0.12, 0], [-0.34, -0.46]].forEach(([a, b], i) => { const p = [shift + a * size, b * size]; if (i) c.lineTo(...p); else c.moveTo(...p); });
    c.fill(); c.restore();
  };

  const paintTask = (c, v, line) => {
    const at = ([x, y]) => [(x - v.left) * v.scale, (v.top - y) * v.scale];
    const [sx, sy] = at([episode.robot[0], episode.robot[1]]), [gx, gy] = at(episode.goal), r = episode.goal_radius * v.scale;
    c.lineWidth = 1.5 * line; c.strokeStyle = colours.robot; c.globalAlpha = 0.8; disc(c, sx, sy, 4.5 * line); c.stroke();
    c.fillStyle = colours.goal; c.globalAlpha = 0.16; disc(c, gx, gy, r); c.fill();
    c.globalAlpha = 1; c.strokeStyle = colours.goal; c.stroke();
    const star = Math.max(7 * line, 0.22 * v.scale);
    c.beginPath();
    for (let k = 0; k < 10; k++) { const q = k % 2 ? 0.45 * star : star, a = (k * Math.PI) / 5; c.lineTo(gx + q * Math.sin(a), gy - q * Math.cos(a)); }
    c.closePath(); c.strokeStyle = colours.halo; c.lineWidth = 3 * line; c.lineJoin = "round"; c.stroke(); c.fill();
  };

  const paintGroups = (c, v, poses) => {
    const groups = new Map();
    poses.forEach((p, i) => { if (p && episode.group[i] >= 0) groups.set(episode.group[i], [...(groups.get(episode.group[i]) || []), i]); });
    for (const members of groups.values()) {
      if (members.length < 2) continue;
      const points = members.map((i) => [(poses[i][0] - v.left) * v.scale, (v.top - poses[i][1]) * v.scale]);
      const corners = points.length > 2 ? hullOf(points) : points, grown = (Math.max(...members.map((i) => episode.radius[i])) + 0.15) * v.scale;
      c.beginPath(); corners.forEach((p, i) => (i ? c.lineTo(...p) : c.moveTo(...p))); c.closePath();
      c.globalAlpha = 0.2; c.lineJoin = c.lineCap = "round"; c.lineWidth = 2 * grown; c.strokeStyle = c.fillStyle = data.people[episode.colour[members[0]] % data.people.length];
      // one opaque shape on a layer of its own, so that fill and outline do not add up
      const layer = paintGroups.layer || (paintGroups.layer = document.createElement("canvas"));
      layer.width = world.width; layer.height = world.height;
      const d = layer.getContext("2d"); d.lineJoin = d.lineCap = "round"; d.lineWidth = c.lineWidth; d.strokeStyle = d.fillStyle = c.strokeStyle;
      d.beginPath(); corners.forEach((p, i) => (i ? d.lineTo(...p) : d.moveTo(...p))); d.closePath(); d.stroke(); d.fill();
      c.drawImage(layer, 0, 0);
    }
    c.globalAlpha = 1;
  };

  const paintContacts = (c, v, line, flashes) => {
    for (const event of episode.events) {
      if (event.kind !== "collision_start" || event.time > time + 1e-6) continue;
      const x = (event.x - v.left) * v.scale, y = (v.top - event.y) * v.scale, age = time - event.time;
      if (!flashes) {
        c.fillStyle = colours.halo; disc(c, x, y, 3.6 * line); c.fill(); c.fillStyle = colours.hit; disc(c, x, y, 2.6 * line); c.fill();
      } else if (age < FLASH_S) {
        const spent = age / FLASH_S, r = (0.55 + 0.5 * spent) * v.scale;
        c.globalAlpha = 1 - 0.75 * spent; c.strokeStyle = colours.hit; c.lineWidth = 2.5 * line; disc(c, x, y, r); c.stroke();
        c.globalAlpha = 0.25 * (1 - spent); c.fillStyle = colours.hit; c.fill(); c.globalAlpha = 1;
      }
    }
  };

  const paintArrow = (c, x, y, dx, dy, line) => {
    const length = Math.hypot(dx, dy), head = 5 * line;
    if (length < head) return;
    const a = Math.atan2(dy, dx), nx = x + dx * (1 - head / length), ny = y + dy * (1 - head / length);
    c.strokeStyle = c.fillStyle = colours.quiet; c.lineWidth = 1.6 * line; c.beginPath(); c.moveTo(x, y); c.lineTo(nx, ny); c.stroke();
    c.beginPath(); c.moveTo(x + dx, y + dy); c.lineTo(nx - Math.sin(a) * head / 2, ny + Math.cos(a) * head / 2); c.lineTo(nx + Math.sin(a) * head / 2, ny - Math.cos(a) * head / 2); c.fill();
  };

  const paintScaleBar = (c, v, ratio) => {
    const metres = [50, 20, 10, 5, 2, 1, 0.5].find((m) => m * v.scale <= world.width * 0.22) || 0.5, y = world.height - 14 * ratio, x = 14 * ratio;
    c.strokeStyle = colours.ink; c.globalAlpha = 0.75; c.lineWidth = 2 * ratio; c.lineCap = "round";
    c.beginPath(); c.moveTo(x, y); c.lineTo(x + metres * v.scale, y); c.stroke();
    c.fillStyle = colours.ink; c.font = `${12 * ratio}px system-ui, sans-serif`; c.fillText(`${metres} m`, x, y - 7 * ratio); c.globalAlpha = 1;
  };

  const paintWorld = () => {
    const ratio = fit(world), v = viewOf(), c = world.getContext("2d"), line = Math.max(1, Math.min(world.width, world.height) / 450);
    if (!ground) paintGround(v);
    c.drawImage(ground, 0, 0);
    const f = frameAt(time), n = episode.radius.length, poses = [];
    for (let i = 0; i < n; i++) poses.push(poseAt(episode.people, n, i, f));
    paintTask(c, v, line);
    const colourOf = (i) => data.people[episode.colour[i] % data.people.length];
    if ($("show-trails").checked) {
      for (let i = 0; i < n; i++) paintTrail(c, v, episode.people, n, i, f, TRAIL_S, colourOf(i), Math.max(1.5 * line, Math.min(0.09 * v.scale, 5 * line)), true);
      paintTrail(c, v, episode.robot, 1, 0, f, Infinity, colours.robot, Math.max(2 * line, Math.min(0.12 * v.scale, 6 * line)), false);
    }
    paintGroups(c, v, poses);
    poses.forEach((p, i) => {
      if (!p) return;
      const x = (p[0] - v.left) * v.scale, y = (v.top - p[1]) * v.scale, r = episode.radius[i] * v.scale;
      if ($("show-space").checked) {
        c.strokeStyle = c.fillStyle = colourOf(i); c.lineWidth = line; disc(c, x, y, r + PERSONAL_SPACE_M * v.scale);
        c.globalAlpha = 0.05; c.fill(); c.globalAlpha = 0.5; c.stroke(); c.globalAlpha = 1;
      }
      paintPerson(c, x, y, p[2], r, colourOf(i));
      if ($("show-arrows").checked) {
        const a = 3 * (f.k * n + i), b = 3 * (f.next * n + i), dt = episode.times[f.next] - episode.times[f.k];
        if (dt > 0 && !Number.isNaN(episode.people[a] + episode.people[b]))
          paintArrow(c, x, y, (episode.people[b] - episode.people[a]) / dt * 0.6 * v.scale, -(episode.people[b + 1] - episode.people[a + 1]) / dt * 0.6 * v.scale, line);
      }
    });
    paintContacts(c, v, line, false);
    const m = episode.other_radius.length;
    for (let i = 0; i < m; i++) { const p = poseAt(episode.others, m, i, f); if (p) paintMachine(c, v, p, { radius: episode.other_radius[i] }, colours.quiet); }
    paintMachine(c, v, poseAt(episode.robot, 1, 0, f), episode.footprint, colours.robot);
    paintContacts(c, v, line, true);
    paintScaleBar(c, v, ratio);
    tellFacts(f, poses);
  };

  // Below the world: distance to the nearest person over time (0 … 4 m), events, and where we are.
  const paintStrip = () => {
    const ratio = fit(strip), c = strip.getContext("2d"), w = strip.width, h = strip.height, top = 4, reach = 4;
    const x = (t) => (t / Math.max(episode.duration, 1e-9)) * w, y = (gap) => top * ratio + (h - top * ratio) * (1 - Math.min(Math.max(gap, 0), reach) / reach);
    c.fillStyle = colours.floor; c.fillRect(0, 0, w, h);
    c.beginPath(); c.moveTo(0, h);
    episode.times.forEach((t, k) => c.lineTo(x(t), y(episode.gaps[k])));
    c.lineTo(w, h); c.closePath(); c.fillStyle = colours["robot-slow"]; c.globalAlpha = 0.3; c.fill(); c.globalAlpha = 1;
    c.beginPath(); let open = false;
    episode.times.forEach((t, k) => { if (!Number.isFinite(episode.gaps[k])) { open = false; return; } if (open) c.lineTo(x(t), y(episode.gaps[k])); else c.moveTo(x(t), y(episode.gaps[k])); open = true; });
    c.strokeStyle = colours.robot; c.lineWidth = 1.5 * ratio; c.stroke();
    c.fillStyle = colours.quiet; c.font = `${10.5 * ratio}px system-ui, sans-serif`;
    c.fillText("nearest person, 0–4 m", 8 * ratio, 15 * ratio);
    for (const event of episode.events) {
      c.fillStyle = c.strokeStyle = event.kind.startsWith("collision") ? colours.hit : event.kind === "goal_reached" ? colours.goal : colours.quiet;
      c.lineWidth = 1.5 * ratio; c.beginPath(); c.moveTo(x(event.time), 0); c.lineTo(x(event.time), h); c.stroke();
      disc(c, Math.min(Math.max(x(event.time), 4 * ratio), w - 4 * ratio), h - 5 * ratio, 4 * ratio); c.fill();
    }
    c.strokeStyle = colours.ink; c.lineWidth = 2 * ratio; c.beginPath(); c.moveTo(x(time), 0); c.lineTo(x(time), h); c.stroke();
  };

  const tellFacts = (f, poses) => {
    const dt = episode.times[f.next] - episode.times[f.k], a = 3 * f.k, b = 3 * f.next, r = episode.robot;
    const g = episode.gaps, near = Number.isFinite(g[f.k] + g[f.next]) ? g[f.k] + (g[f.next] - g[f.k]) * f.share : g[f.k];
    $("fact-time").textContent = `${time.toFixed(1)} / ${episode.duration.toFixed(1)} s`;
    $("fact-speed").textContent = dt > 0 ? `${(Math.hypot(r[b] - r[a], r[b + 1] - r[a + 1]) / dt).toFixed(2)} m/s` : "–";
    $("fact-near").textContent = Number.isFinite(near) ? `${Math.max(0, near).toFixed(2)} m` : "nobody";
    $("fact-people").textContent = String(poses.filter(Boolean).length);
  };

  const paint = () => {
    paintWorld(); paintStrip();
    scrub.value = String(Math.round((time / Math.max(episode.duration, 1e-9)) * 1000));
    scrub.setAttribute("aria-valuetext", `${time.toFixed(1)} seconds`);
  };
  const tick = (stamp) => {
    if (!playing) return;
    time += before ? Math.min((stamp - before) / 1000, 0.1) * Number($("speed").value) : 0;
    before = stamp;
    if (time >= episode.duration) { time = episode.duration; setPlaying(false); }
    paint();
    if (playing) requestAnimationFrame(tick);
  };
  const setPlaying = (on) => {
    if (on && time >= episode.duration) time = 0;
    playing = on; before = 0; play.textContent = on ? "❚❚ Pause" : "▶ Play"; play.setAttribute("aria-pressed", String(on));
    if (on) requestAnimationFrame(tick);
  };
  const seek = (t) => { time = Math.min(Math.max(t, 0), episode.duration); paint(); };

  const option = (value, text) => { const o = document.createElement("option"); o.value = value; o.textContent = text; return o; };
  const labelOf = (e) => `${e.scenario} · seed ${e.seed} · ${e.outcome.replaceAll("_", " ")}`;
  const listScenarios = (policy) => {
    $("pick-scenario").replaceChildren(...data.episodes.map((e, i) => [e, i]).filter(([e]) => e.policy === policy).map(([e, i]) => option(i, labelOf(e))));
  };
  const choose = (index) => {
    const wanted = data.episodes[index];
    if ($("pick-policy").value !== wanted.policy || !$("pick-scenario").options.length) { $("pick-policy").value = wanted.policy; listScenarios(wanted.policy); }
    $("pick-scenario").value = String(index);
    episode = unpack(wanted); ground = null; setPlaying(false); time = 0;
    $("fact-outcome").textContent = episode.outcome.replaceAll("_", " ");
    $("fact-outcome").style.color = data.outcomes[episode.outcome];
    world.setAttribute("aria-label", `Top view: ${episode.policy}, ${labelOf(episode)}`);
    $("events").replaceChildren(...episode.events.map((event) => {
      const item = document.createElement("li"), button = document.createElement("button"), when = document.createElement("time");
      button.type = "button"; when.textContent = `${event.time.toFixed(1)} s`;
      button.append(when, [event.kind.replaceAll("_", " "), event.subject].filter(Boolean).join(" · "));
      button.addEventListener("click", () => seek(event.time)); item.append(button); return item;
    }));
    paint();
  };

  $("pick-policy").replaceChildren(...[...new Set(data.episodes.map((e) => e.policy))].map((p) => option(p, p)));
  $("pick-policy").addEventListener("change", (change) => {
    const same = data.episodes.findIndex((e) => e.policy === change.target.value && e.scenario === episode.scenario && e.seed === episode.seed);
    const any = data.episodes.findIndex((e) => e.policy === change.target.value);
    listScenarios(change.target.value); choose(same >= 0 ? same : any);
  });
  $("pick-scenario").addEventListener("change", (change) => choose(Number(change.target.value)));
  for (const id of ["show-trails", "show-space", "show-arrows"]) $(id).addEventListener("change", paint);
  play.addEventListener("click", () => setPlaying(!playing));
  scrub.addEventListener("input", () => seek((Number(scrub.value) / 1000) * episode.duration));
  strip.addEventListener("pointerdown", (press) => seek((press.offsetX / strip.clientWidth) * episode.duration));
  world.addEventListener("click", () => setPlaying(!playing));
  $("player").addEventListener("keydown", (key) => {
    const field = key.target.matches("select, input, button");
    if (key.key === " " && !field) { key.preventDefault(); setPlaying(!playing); }
    if (field && key.target !== scrub) return;
    const jump = { ArrowLeft: time - 0.1, ArrowRight: time + 0.1, Home: 0, End: episode.duration }[key.key];
    if (jump !== undefined) { key.preventDefault(); seek(jump); }
  });
  document.addEventListener("click", (press) => {
    const button = press.target.closest("[data-replay]");
    if (!button) return;
    choose(Number(button.dataset.replay));
    $("replay").scrollIntoView({ behavior: reducedMotion ? "auto" : "smooth" }); world.focus({ preventScroll: true }); setPlaying(!reducedMotion);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); paint(); });
  new ResizeObserver(() => { if (episode) paint(); }).observe(world);
  readColours(); choose(0);
  // A link such as report.html#replay=2&t=4.5 opens an episode at a moment.
  const link = new URLSearchParams(location.hash.slice(1)), linked = Number(link.get("replay"));
  if (link.get("replay") && data.episodes[linked]) { choose(linked); seek(Number(link.get("t")) || 0); $("replay").scrollIntoView({ behavior: "instant" }); }
})();
