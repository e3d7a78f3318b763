"use strict";
(() => {
const part = (id) => document.getElementById(id);
const data = document.body.dataset, canvas = part("picture"), context = canvas.getContext("2d");
const texts = JSON.parse(data.texts);
const SPEED_MPS = 1.3, BACK_MPS = 0.7, SIDE_MPS = 0.8, TURN_RAD_S = 1.6;
let device = "keys", socket = null, scene = null, message = null, number = 0, drawn = 0, top_view = data.view === "top", retry = 400;

// ---- input ----------------------------------------------------------------------------------------------------
const KEYS = {
  ArrowUp: "forward", KeyW: "forward", ArrowDown: "back", KeyS: "back", ArrowLeft: "turn-left", ArrowRight: "turn-right",
  KeyA: "left", KeyD: "right", KeyE: "wave",
};
const held = new Map(); // source → what it does
const holds = (what) => ([...held.values()].includes(what) ? 1 : 0);

function gamepad() {
  const pad = [...navigator.getGamepads()].find((each) => each && each.connected && each.axes.length >= 2);
  if (!pad) return null;
  const axis = (k) => { const a = pad.axes[k] || 0; return Math.abs(a) < 0.12 ? 0 : a; };
  const wave = Boolean(pad.buttons[0] && pad.buttons[0].pressed), read = [axis(0), axis(1), axis(2)];
  return wave || read.some(Boolean) ? { forward: -read[1] * SPEED_MPS, sideways: -read[0] * SIDE_MPS, turn: -read[2] * TURN_RAD_S, wave } : null;
}
function intention() {
  const pad = held.size ? null : gamepad();
  if (pad) { device = "gamepad"; return pad; }
  return {
    forward: holds("forward") * SPEED_MPS - holds("back") * BACK_MPS,
    sideways: (holds("left") - holds("right")) * SIDE_MPS,
    turn: (holds("turn-left") - holds("turn-right")) * TURN_RAD_S,
    wave: Boolean(holds("wave")),
  };
}
function say(text) { if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(text)); }
function tellControls() {
  const want = intention(), short = (value) => Math.round(value * 1000) / 1000;
  number += 1;
  say({ type: "controls", number, seen: drawn, forward: short(want.forward), sideways: short(want.sideways), turn: short(want.turn), wave: want.wave, view: top_view ? "top" : "first", input: device });
}
function hold(source, what, at) {
  if (held.get(source) === what) return;
  held.set(source, what);
  changed(at);
}
function release(source, at) { if (held.delete(source)) changed(at); }
function go() { if (data.link === "open" && data.phase !== "over") { data.phase = "walking"; tellControls(); say({ type: "go" }); } }
function pause() {
  if (data.phase !== "walking") return;
  held.clear(); tellControls(); say({ type: "pause" });
  show("paused", texts["Paused"], texts["Go on"]);
}
function switchView() {
  top_view = !top_view;
  part("view").setAttribute("aria-pressed", String(top_view));
  draw();
}
function show(phase, text, button) {
  data.phase = phase;
  part("panel-text").textContent = text;
  part("go").textContent = button || "";
  part("go").hidden = !button;
  part("go").disabled = !button;
  if (button) part("go").focus();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const what = KEYS[event.code];
  if (what) {
    event.preventDefault();
    if (data.phase === "ready" || data.phase === "paused") go();
    device = "keys";
    hold(event.code, what, event.timeStamp);
    return;
  }
  const actions = { KeyV: switchView, KeyP: () => (data.phase === "walking" ? pause() : go()) };
  if (event.code === "Space" && !(event.target instanceof HTMLButtonElement)) actions.Space = actions.KeyP;
  if (!actions[event.code] || event.repeat) return;
  event.preventDefault();
  actions[event.code]();
});
addEventListener("keyup", (event) => release(event.code, event.timeStamp));
addEventListener("blur", () => { held.clear(); tellControls(); });
document.addEventListener("visibilitychange", () => { if (document.hidden) pause(); });
function pressable(element, source, what) {
  const up = (event) => { element.classList.remove("held"); release(source, event.timeStamp); };
  element.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    element.setPointerCapture(event.pointerId);
    element.classList.add("held");
    if (data.phase === "ready" || data.phase === "paused") go();
    device = "touch";
    hold(source, what, event.timeStamp);
  });
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("contextmenu", (event) => event.preventDefault());
}
for (const pad of document.querySelectorAll("[data-pad]")) pressable(pad, `pad ${pad.dataset.pad}`, pad.dataset.pad);
pressable(part("wave"), "wave button", "wave");
part("wave").addEventListener("keydown", (event) => { if (event.code === "Space" || event.code === "Enter") hold("wave key", "wave", event.timeStamp); });
part("wave").addEventListener("keyup", (event) => release("wave key", event.timeStamp));
part("wave").addEventListener("blur", (event) => release("wave key", event.timeStamp));
part("go").addEventListener("click", go);
part("pause").addEventListener("click", pause);
part("view").addEventListener("click", switchView);

// ---- time from an input to the picture that shows its effect --------------------------------------------------
let waits = null;
const delays = [];
function changed(at) {
  tellControls();
  if (data.phase === "walking") waits = { number, at };
}
function noteDelay(follows) {
  if (!waits || follows < waits.number) return;
  delays.push(performance.now() - waits.at);
  if (delays.length > 200) delays.shift();
  waits = null;
  const sorted = [...delays].sort((a, b) => a - b);
  data.delay = sorted[sorted.length >> 1].toFixed(1);
  data.delays = delays.length;
  data.delayMost = sorted[sorted.length - 1].toFixed(1);
  data.delay95 = sorted[Math.floor(sorted.length * 0.95)].toFixed(1);
}

// ---- pictures -------------------------------------------------------------------------------------------------
function draw() {
  if (!scene || !message) return;
  const state = message.state, me = state.people.find((person) => person[6]);
  if (!me) return;
  if (top_view) {
    drawTop(state, me, 0, 0, canvas.width, canvas.height, 14);
  } else {
    FirstPerson.draw(context, scene, state, me);
    const size = Math.round(canvas.height * 0.3);
    drawTop(state, me, canvas.width - size - 8, 8, size, size, 9);
  }
  part("time").textContent = state.time.toFixed(1);
  part("hint").textContent = state.started ? "" : texts["Wait until the robot reaches its mark (blue)."];
  data.time = state.time;
  data.place = `${me[1].toFixed(2)},${me[2].toFixed(2)},${me[3].toFixed(2)}`;
}
/** Points of a path, half a metre apart. */
function stepsAlong(path) {
  const steps = [];
  for (let k = 1; k < path.length; k += 1) {
    const [x0, y0] = path[k - 1], [x1, y1] = path[k], pieces = Math.max(1, Math.round(Math.hypot(x1 - x0, y1 - y0) / 0.5));
    for (let i = 0; i < pieces; i += 1) steps.push([x0 + (x1 - x0) * i / pieces, y0 + (y1 - y0) * i / pieces]);
  }
  return steps;
}
/** The world from above, `across` metres high, with the participant in the middle and looking up. */
function drawTop(state, me, left, top, width, height, across) {
  const scale = height / across;
  context.save();
  context.beginPath(); context.rect(left, top, width, height); context.clip();
  context.fillStyle = "#f2f0ea"; context.fillRect(left, top, width, height);
  context.translate(left + width / 2, top + height * 0.62);
  context.scale(scale, -scale);
  context.rotate(Math.PI / 2 - me[3]);
  context.translate(-me[1], -me[2]);
  context.lineCap = "round"; context.strokeStyle = "#3c444c"; context.lineWidth = 0.08;
  context.beginPath();
  for (const [x0, y0, x1, y1] of scene.walls) { context.moveTo(x0, y0); context.lineTo(x1, y1); }
  context.stroke();
  context.fillStyle = "#2e7d3299";
  for (const [x, y] of scene.steps) disc(x, y, 0.07);
  if (scene.path.length) disc(...scene.path[scene.path.length - 1], 0.35);
  if (scene.mark) { context.strokeStyle = "#1565c0"; context.lineWidth = 0.07; context.beginPath(); context.arc(...scene.mark, 0.35, 0, 7); context.stroke(); }
  for (const [x, y, heading] of state.others) if (isSeen(me, x, y, 0.6)) body(x, y, heading, 0.6, "#7986a0");
  if (isSeen(me, state.robot[0], state.robot[1], scene.robot_radius)) robot(state.robot);
  for (const [, x, y, heading, radius, gesture, mine] of state.people) {
    if (!mine && !isSeen(me, x, y, radius)) continue;
    body(x, y, heading, radius, mine ? "#00695c" : "#8e3b46");
    if (gesture !== "none") { context.strokeStyle = "#f9a825"; context.lineWidth = 0.07; context.beginPath(); context.arc(x, y, radius + 0.15, 0, 7); context.stroke(); }
  }
  context.restore();
}
/** Whether walls leave sight of a body, at its middle or its sides: the map tells nothing that eyes would not. */
function isSeen(me, x, y, radius) {
  const dx = x - me[1], dy = y - me[2], away = Math.hypot(dx, dy) || 1, sx = -dy / away * radius * 0.8, sy = dx / away * radius * 0.8;
  return [0, 1, -1].some((side) => !scene.walls.some((wall) => crosses(wall, me[1], me[2], x + side * sx, y + side * sy)));
}
function crosses([ax, ay, bx, by], px, py, qx, qy) {
  const turn = (x0, y0, x1, y1, x2, y2) => (x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0);
  return turn(ax, ay, bx, by, px, py) * turn(ax, ay, bx, by, qx, qy) < 0 && turn(px, py, qx, qy, ax, ay) * turn(px, py, qx, qy, bx, by) < 0;
}
function disc(x, y, radius) { context.beginPath(); context.arc(x, y, radius, 0, 7); context.fill(); }
function body(x, y, heading, radius, colour) {
  context.fillStyle = colour; disc(x, y, radius);
  context.strokeStyle = "#fff"; context.lineWidth = 0.06;
  context.beginPath(); context.moveTo(x, y); context.lineTo(x + radius * Math.cos(heading), y + radius * Math.sin(heading)); context.stroke();
}
function robot([x, y, heading]) {
  if (!scene.robot_polygon) { body(x, y, heading, scene.robot_radius, "#1565c0"); return; }
  const s = Math.sin(heading), c = Math.cos(heading);
  context.fillStyle = "#1565c0";
  context.beginPath();
  for (const [u, v] of scene.robot_polygon) context.lineTo(x + u * c - v * s, y + u * s + v * c);
  context.fill();
  context.strokeStyle = "#fff"; context.lineWidth = 0.06;
  context.beginPath(); context.moveTo(x, y); context.lineTo(x + scene.robot_radius * c, y + scene.robot_radius * s); context.stroke();
}

// ---- the server -----------------------------------------------------------------------------------------------
function take(text) {
  const received = JSON.parse(text);
  if (received.type === "scene") {
    scene = received.scene;
    scene.steps = stepsAlong(scene.path);
    data.link = "open"; retry = 400;
    show("ready", texts["Ready. You start with the first key, or here."], texts["Start"]);
  } else if (received.type === "state") {
    message = received;
    draw();
    drawn = received.frame;
    requestAnimationFrame(() => noteDelay(received.follows)); // when the browser shows what was drawn
    tellControls();
    data.frames = Number(data.frames || 0) + 1;
    if (received.state.done) show("over", texts["Storing …"], "");
  } else if (received.type === "kept") {
    data.phase = "over";
    location.reload();
  } else if (received.type === "error") {
    show("trouble", received.message, "");
  }
}
function connect() {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  socket = new WebSocket(`${scheme}//${location.host}${data.walk}`);
  data.link = "connecting";
  socket.onmessage = (event) => take(event.data);
  socket.onclose = (event) => {
    data.link = "lost";
    held.clear();
    if (event.code === 4001) {
      show("replaced", texts["This walk goes on in another window."], "");
      return;
    }
    if (data.phase === "over") { setTimeout(() => location.reload(), retry); return; }
    show("lost", texts["No connection. Trying again …"], "");
    setTimeout(connect, retry);
    retry = Math.min(4000, retry * 2);
  };
}
connect();
})();
