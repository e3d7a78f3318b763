// Packed episodes → typed arrays. The encoder is tracks.py; poses are [x, y, heading], NaN where absent.

const bytesOf = (text) => {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
};

// (frames × tracks × channels) values, frame by frame.
const decodeTracks = (text, frames, tracks, units) => {
  const bytes = bytesOf(text), channels = units.length;
  const values = new Float32Array(frames * tracks * channels).fill(NaN);
  let at = 0;
  const next = () => {
    let number = 0, factor = 1, byte;
    do { byte = bytes[at++]; number += (byte & 127) * factor; factor *= 128; } while (byte & 128);
    return number % 2 ? -(number + 1) / 2 : number / 2;
  };
  for (let track = 0; track < tracks; track++) {
    const spans = Array.from({ length: next() }, () => [next(), next()]);
    for (const [start, length] of spans)
      for (let channel = 0; channel < channels; channel++) {
        let last = 0, before = 0;
        for (let k = start; k < start + length; k++) {
          const now = next() + 2 * last - before;
          values[(k * tracks + track) * channels + channel] = now * units[channel];
          before = last; last = now;
        }
      }
  }
  return values;
};

const LONGEST_TRAIL = 700; // points

class Episode {
  constructor(packed, data) {
    Object.assign(this, packed);
    const n = packed.frames;
    this.scene = data.scenes[packed.scene];
    this.times = decodeTracks(packed.times, n, 1, [1e-3]);
    this.duration = this.times[n - 1];
    this.crowd = packed.radius.length;
    this.robot = decodeTracks(packed.robot, n, 1, data.units);
    this.people = decodeTracks(packed.people, n, this.crowd, data.units);
    this.others = decodeTracks(packed.others, n, packed.other_radius.length, data.units);
    this.curves = packed.curves.map((c) => ({ ...c, values: decodeTracks(c.values, n, 1, [data.curve_unit]) }));
    this.colours = packed.colour.map((c) => data.people[c % data.people.length]);
    this.walked = this.#walked();
    this.heads = packed.heads ? decodeTracks(packed.heads, n, this.crowd, [data.head_unit]) : null;
    const jumps = packed.events.filter((e) => e.kind === "reset").map((e) => this.frameAt(Math.max(e.time - 1e-4, 0)).k);
    this.jumps = new Set(jumps); // frames after which the robot was put elsewhere
    if (packed.plans) this.plans = this.#unpackPlans(packed.plans);
  }

  get title() { return `${this.scenario} · seed ${this.seed} · ${this.outcome.replaceAll("_", " ")}`; }

  // The frames before and after a moment, and how far it lies between them.
  frameAt(time) {
    const times = this.times;
    let low = 0, high = times.length - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (times[middle] <= time) low = middle; else high = middle; }
    const span = times[high] - times[low];
    return { k: low, next: high, share: span > 0 ? Math.min(Math.max((time - times[low]) / span, 0), 1) : 0, time };
  }

  // A pose between two frames; absent where it is absent in the frame shown.
  #poseAt(array, count, index, f) {
    const a = 3 * (f.k * count + index), b = 3 * (f.next * count + index);
    if (Number.isNaN(array[a])) return f.share > 0.999 && !Number.isNaN(array[b]) ? [array[b], array[b + 1], array[b + 2]] : null;
    if (Number.isNaN(array[b])) return f.share > 0.999 ? null : [array[a], array[a + 1], array[a + 2]];
    return [0, 1, 2].map((i) => array[a + i] + (array[b + i] - array[a + i]) * f.share);
  }
  robotAt(f) { return this.#poseAt(this.robot, 1, 0, this.jumps.has(f.k) && f.share < 0.999 ? { ...f, share: 0 } : f); }
  personAt(i, f) { return this.#poseAt(this.people, this.crowd, i, f); }
  otherAt(i, f) { return this.#poseAt(this.others, this.other_radius.length, i, f); }
  peopleAt(f) { return Array.from({ length: this.crowd }, (_, i) => this.personAt(i, f)); }

  // Velocity in m/s between the frames about a moment.
  #velocity(array, count, index, f) {
    const a = 3 * (f.k * count + index), b = 3 * (f.next * count + index), dt = this.times[f.next] - this.times[f.k];
    const v = [(array[b] - array[a]) / dt, (array[b + 1] - array[a + 1]) / dt];
    return dt > 0 && Number.isFinite(v[0] + v[1]) ? v : [0, 0];
  }
  robotVelocity(f) { return this.jumps.has(f.k) ? [0, 0] : this.#velocity(this.robot, 1, 0, f); }
  personVelocity(i, f) { return this.#velocity(this.people, this.crowd, i, f); }

  // Plans and forecasts are tracks of points: [plan or forecast][point] → x, y, NaN beyond the end.
  #unpackPlans(p) {
    const units = [p.unit, p.unit], total = p.person.length;
    let first = 0;
    const rows = p.counts.map((count) => { first += count; return Array.from({ length: count }, (_, k) => first - count + k); });
    return {
      ...p, rows,
      plan: decodeTracks(p.plan, p.points, p.times.length, units), forecast: decodeTracks(p.forecast, p.expected, total, units),
    };
  }

  // What the policy had published by then, as far as it is still ahead: lines of [x, y, seconds from now], each from where it begins now.
  plansAt(f, poses) {
    const p = this.plans, none = { plan: [], forecasts: [] };
    if (!p || p.times[0] > f.time + 1e-6) return none;
    let row = 0, high = p.times.length;
    while (high - row > 1) { const middle = (row + high) >> 1; if (p.times[middle] <= f.time + 1e-6) row = middle; else high = middle; }
    const age = f.time - p.times[row];
    const line = (values, count, track, points, step, from) => {
      const out = [];
      for (let j = 0; j < points; j++) {
        const x = values[2 * (j * count + track)], y = values[2 * (j * count + track) + 1], ahead = (j + 1) * step - age;
        if (ahead > 1e-6 && !Number.isNaN(x)) out.push([x, y, ahead]);
      }
      return out.length ? [[from[0], from[1], 0], ...out] : [];
    };
    const plan = line(p.plan, p.times.length, row, p.points, p.step_s, this.robotAt(f));
    const forecasts = p.rows[row].flatMap((k) => {
      const i = p.person[k], points = poses[i] ? line(p.forecast, p.person.length, k, p.expected, p.step_s * p.every, poses[i]) : [];
      return points.length ? [{ person: i, points }] : [];
    });
    return { plan, forecasts };
  }

  // The number of a person's group, -1 alone.
  groupAt(i, time) { return this.group[i].findLast(([from]) => from <= time + 1e-6)?.[1] ?? -1; }

  // Who does what with their hands: person → name.
  gesturesAt(time) { return new Map(this.gestures.filter(([, , from, until]) => from <= time + 1e-6 && time < until - 1e-6).map(([i, name]) => [i, name])); }

  // Where somebody's head turns from the body, rad; null: ahead, or not known.
  headAt(i, f) {
    if (!this.heads) return null;
    const yaw = this.heads[(f.share > 0.5 ? f.next : f.k) * this.crowd + i];
    return Number.isNaN(yaw) ? null : yaw;
  }

  // How far everybody has walked by each frame, m: the phase of their steps.
  #walked() {
    const n = this.crowd, walked = new Float32Array(this.frames * n);
    for (let k = 1; k < this.frames; k++)
      for (let i = 0; i < n; i++) {
        const a = 3 * ((k - 1) * n + i), b = 3 * (k * n + i), p = this.people;
        const way = Math.hypot(p[b] - p[a], p[b + 1] - p[a + 1]);
        walked[k * n + i] = walked[(k - 1) * n + i] + (Number.isFinite(way) ? way : 0);
      }
    return walked;
  }
  walkedAt(i, f) {
    const a = this.walked[f.k * this.crowd + i], b = this.walked[f.next * this.crowd + i];
    return a + (b - a) * f.share;
  }

  // Points of a trail up to now, oldest first, each [x, y, age in s]; gaps where somebody was absent are left out.
  #trail(array, count, index, f, seconds) {
    const first = seconds === Infinity ? 0 : this.frameAt(Math.max(0, f.time - seconds)).k, points = [];
    let every = 1; // long trails are thinned, by powers of two so that they do not shimmer
    while ((f.k - first) / every > LONGEST_TRAIL) every *= 2;
    for (let k = Math.ceil(first / every) * every; k <= f.k; k += every) {
      const j = 3 * (k * count + index);
      if (Number.isNaN(array[j])) points.length = 0; else points.push([array[j], array[j + 1], f.time - this.times[k]]);
    }
    const now = this.#poseAt(array, count, index, f);
    return now ? [...points, [now[0], now[1], 0]] : [];
  }
  // One line from each place where it was put.
  robotTrails(f) {
    const lines = [[]], ends = [...this.jumps].map((k) => this.times[k] + 1e-4);
    let last = -1;
    for (const point of this.#trail(this.robot, 1, 0, f, Infinity)) {
      const when = f.time - point[2];
      if (ends.some((end) => last <= end && end < when)) lines.push([]);
      lines.at(-1).push(point); last = when;
    }
    return lines;
  }
  personTrail(i, f, seconds) { return this.#trail(this.people, this.crowd, i, f, seconds); }

  contacts(time) { return this.events.filter((e) => e.kind === "collision_start" && e.time <= time + 1e-6); }

  // Who is being touched, as indices of people.
  touched(time) {
    const now = this.contacts(time).filter((e) => time <= e.until + 0.05).map((e) => e.subject);
    return new Set(this.person.flatMap((id, i) => (now.includes(`person:${id}`) ? [i] : [])));
  }

  valueAt(curve, f) {
    const a = curve.values[f.k], b = curve.values[f.next];
    return Number.isFinite(a) && Number.isFinite(b) ? a + (b - a) * f.share : a;
  }
}
