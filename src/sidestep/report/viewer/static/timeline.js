// Under the picture: marks for events, and curves with the moment shown running through all of them.

const EVENT_COLOURS = {
  collision_start: "hit", policy_error: "hit", goal_reached: "goal", stopped: "goal", trigger: "e-trigger", reset: "e-reset",
  group_intrusion: "e-group", off_route: "e-route", lane_invasion: "e-route", wrong_exit: "e-route", exited: "goal", disobeyed: "e-route",
};
const EVENT_COLOUR = (kind) => EVENT_COLOURS[kind] ?? "warn";
const ROW_PX = 40, TITLE_PX = 13;

const fillEventLane = (lane, episode, seek) => {
  let before = -1, crowded = 0;
  lane.replaceChildren(...episode.events.map((event) => {
    const mark = document.createElement("button");
    mark.type = "button"; mark.className = `event-mark ${EVENT_COLOUR(event.kind)}`;
    const share = event.time / Math.max(episode.duration, 1e-9);
    crowded = share - before < 0.009 ? crowded + 1 : 0; before = share; // marks of one moment stand side by side
    mark.style.left = `calc(${(100 * share).toFixed(3)}% + ${share > 0.9 ? -13 * crowded : 13 * crowded}px)`;
    mark.dataset.tip = `${event.time.toFixed(2)} s · ${event.text}`;
    mark.setAttribute("aria-label", mark.dataset.tip);
    mark.addEventListener("click", () => seek(event.time));
    return mark;
  }));
};

// Text that follows the pointer or the focus over anything with data-tip.
const showTips = (root, tip) => {
  const show = (e) => {
    const mark = e.target.closest("[data-tip]");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const box = mark.getBoundingClientRect(), frame = root.getBoundingClientRect(), half = tip.offsetWidth / 2;
    tip.style.left = `${clamp(box.left + box.width / 2 - frame.left, half, Math.max(half, frame.width - half))}px`;
    tip.style.top = `${box.top - frame.top - tip.offsetHeight - 6}px`;
  };
  for (const kind of ["pointerover", "focusin"]) root.addEventListener(kind, show);
  for (const kind of ["pointerleave", "focusout"]) root.addEventListener(kind, () => { tip.hidden = true; });
};

class Curves {
  constructor(canvas, seek) {
    this.canvas = canvas; this.still = document.createElement("canvas"); this.key = "";
    const at = (e) => seek((clamp(e.offsetX, 0, canvas.clientWidth) / canvas.clientWidth) * this.episode.duration);
    canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); at(e); });
    canvas.addEventListener("pointermove", (e) => { if (e.buttons & 1) at(e); });
  }

  show(episode, colours) {
    this.episode = episode; this.colours = colours; this.key = "";
    this.canvas.style.height = `${ROW_PX * Math.max(1, episode.curves.length)}px`;
  }

  paint(time) {
    const { canvas, episode, colours } = this, ratio = fitCanvas(canvas), c = canvas.getContext("2d"), key = `${canvas.width}x${canvas.height}`;
    if (this.key !== key) { this.key = key; this.#paintStill(ratio); }
    c.clearRect(0, 0, canvas.width, canvas.height);
    c.drawImage(this.still, 0, 0);
    const x = (time / Math.max(episode.duration, 1e-9)) * canvas.width, f = episode.frameAt(time);
    c.strokeStyle = colours.ink; c.lineWidth = 1.5 * ratio; c.beginPath(); c.moveTo(x, 0); c.lineTo(x, canvas.height); c.stroke();
    c.font = `600 ${11 * ratio}px system-ui, sans-serif`;
    episode.curves.forEach((curve, row) => {
      const value = episode.valueAt(curve, f);
      if (!Number.isFinite(value)) return;
      c.fillStyle = colours.robot; disc(c, x, this.#y(curve, row, value, ratio), 3 * ratio); c.fill();
      c.fillStyle = colours.ink; c.textAlign = "right";
      c.fillText(`${value.toFixed(2)} ${curve.unit}`, canvas.width - 8 * ratio, (row * ROW_PX + 12) * ratio);
      c.textAlign = "left";
    });
  }

  #y(curve, row, value, ratio) {
    const low = Math.min(0, curve.low), share = (value - low) / (curve.top - low);
    return ((row + 1) * ROW_PX - 3 - clamp(share, 0, 1) * (ROW_PX - TITLE_PX - 5)) * ratio;
  }

  #paintStill(ratio) {
    const { still, canvas, episode: e, colours } = this, c = still.getContext("2d");
    still.width = canvas.width; still.height = canvas.height;
    const x = (t) => (t / Math.max(e.duration, 1e-9)) * still.width;
    for (const event of e.events) {
      c.strokeStyle = colours[EVENT_COLOUR(event.kind)]; c.globalAlpha = 0.45; c.lineWidth = ratio;
      c.beginPath(); c.moveTo(x(event.time), 0); c.lineTo(x(event.time), still.height); c.stroke();
    }
    c.globalAlpha = 1; c.font = `${11 * ratio}px system-ui, sans-serif`;
    e.curves.forEach((curve, row) => {
      curve.low ??= curve.values.reduce((low, v) => (v < low ? v : low), 0);
      const base = this.#y(curve, row, 0, ratio);
      c.fillStyle = colours.quiet; c.fillText(`${curve.title}, ${curve.unit}`, 8 * ratio, (row * ROW_PX + 12) * ratio);
      c.strokeStyle = colours.line; c.lineWidth = ratio; c.beginPath(); c.moveTo(0, base); c.lineTo(still.width, base); c.stroke();
      this.#spans(curve).forEach((span) => {
        c.beginPath(); span.forEach((k) => c.lineTo(x(e.times[k]), this.#y(curve, row, curve.values[k], ratio)));
        c.strokeStyle = colours.robot; c.lineWidth = 1.5 * ratio; c.stroke();
        c.lineTo(x(e.times[span.at(-1)]), base); c.lineTo(x(e.times[span[0]]), base); c.closePath();
        c.fillStyle = colours["robot-slow"]; c.globalAlpha = 0.22; c.fill(); c.globalAlpha = 1;
      });
    });
  }

  // Runs of frames in which a curve has values.
  #spans(curve) {
    const spans = [];
    curve.values.forEach((v, k) => { if (Number.isFinite(v)) { if (k && Number.isFinite(curve.values[k - 1])) spans.at(-1).push(k); else spans.push([k]); } });
    return spans;
  }
}
