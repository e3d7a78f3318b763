"use strict";
(() => {
const part = (id) => document.getElementById(id);
const state = document.body.dataset;
const STEER_PER_S = 1.8, CENTRE_PER_S = 3.5, THROTTLE_PER_S = 2.0, BRAKE_PER_S = 4.0, RELEASE_PER_S = 6.0;
const KEY_THROTTLE = 0.65, KEY_BRAKE = 0.8;
const SIDEWAYS = 17.5; // full lock of keys is SIDEWAYS / speed²: about 4 m/s² to the side
const LATERAL = ["Follow the lane", "Turn left", "Turn right", "Go straight on"];
const LONGITUDINAL = ["slow down", "keep the speed", "speed up"];
const ARROWS = [
  "M24 42V8m-9 10 9-10 9 10", "M34 42V24q0-8-8-8H9m9-9-9 9 9 9",
  "M14 42V24q0-8 8-8h17m-9-9 9 9-9 9", "M24 42V8m-9 10 9-10 9 10",
];
const OUTCOMES = {
  success: ["You made it", "The car left the intersection on the right side, in its lane."],
  pedestrian_collision: ["You hit a person", ""],
  vehicle_collision: ["You hit a vehicle", ""],
  environment_collision: ["You hit something", ""],
  lane_invasion: ["Too many lane invasions", "The car crossed lane lines more than five times."],
  off_route: ["Off the road", ""],
  wrong_exit: ["Wrong exit", "The car left the intersection on another side, or beside its lane."],
  timeout: ["Time is up", ""],
};
let socket = null, frame = null, number = 0, retry = 500, retrying = true, shown = Promise.resolve();
let view = { camera: "driver", map: true };

// ---- input: keys, pads, gamepad -------------------------------------------------------------------------------
const KEYS = {
  ArrowLeft: "left", KeyA: "left", ArrowRight: "right", KeyD: "right",
  ArrowUp: "up", KeyW: "up", ArrowDown: "down", KeyS: "down",
};
const held = new Map(); // source (key code, pad) → direction
const input = { steer: 0, throttle: 0, brake: 0, at: performance.now() };
const holds = (direction) => [...held.values()].includes(direction);
const towards = (value, target, most) => value + Math.max(-most, Math.min(most, target - value));

function advanceInput() {
  const now = performance.now(), dt = Math.min(0.1, (now - input.at) / 1000);
  input.at = now;
  const pad = readGamepad();
  if (pad) { Object.assign(input, pad); return; }
  const speed = frame ? frame.speed_mps : 0;
  const lock = Math.min(1, SIDEWAYS / Math.max(speed * speed, 1e-3));
  const steer = lock * ((holds("left") ? 1 : 0) - (holds("right") ? 1 : 0));
  const homeward = steer === 0 || steer * input.steer < 0 || Math.abs(steer) < Math.abs(input.steer);
  input.steer = towards(input.steer, steer, (homeward ? CENTRE_PER_S : STEER_PER_S) * dt);
  const throttle = holds("up") && !holds("down") ? KEY_THROTTLE : 0, brake = holds("down") ? KEY_BRAKE : 0;
  input.throttle = towards(input.throttle, throttle, (throttle ? THROTTLE_PER_S : RELEASE_PER_S) * dt);
  input.brake = towards(input.brake, brake, (brake ? BRAKE_PER_S : RELEASE_PER_S) * dt);
}

function hold(source, direction, at) {
  if (held.get(source) === direction) return;
  held.set(source, direction);
  if (state.phase === "ready" || state.phase === "paused") request("go");
  changed(at);
}
function release(source, at) { if (held.delete(source)) changed(at); }
function releaseAll() { held.clear(); Object.assign(input, { steer: 0, throttle: 0, brake: 0 }); sendControls(); }

const pressed = new Set();
let padInUse = false;
function readGamepad() {
  const pad = [...navigator.getGamepads()].find((each) => each && each.connected && each.axes.length);
  if (!pad) { padInUse = false; return null; }
  const axis = pad.axes[0], value = (k) => (pad.buttons[k] ? pad.buttons[k].value : 0);
  const bent = Math.abs(axis) < 0.08 ? 0 : (axis - Math.sign(axis) * 0.08) / 0.92;
  const read = { steer: -Math.sign(bent) * bent * bent, throttle: value(7), brake: value(6) };
  if (held.size) padInUse = false;
  else if (read.steer || read.throttle || read.brake) padInUse = true;
  return padInUse ? read : null;
}
const PAD_BUTTONS = { 0: () => act(), 3: () => request("again"), 9: () => act() };
function pollGamepad() {
  for (const pad of navigator.getGamepads()) {
    for (const [k, action] of Object.entries(PAD_BUTTONS)) {
      const id = pad && `${pad.index}:${k}`, down = pad && pad.buttons[k] && pad.buttons[k].pressed;
      if (down && !pressed.has(id)) { pressed.add(id); action(); } else if (pad && !down) pressed.delete(id);
    }
  }
  requestAnimationFrame(pollGamepad);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (KEYS[event.code]) {
    event.preventDefault();
    hold(event.code, KEYS[event.code], event.timeStamp);
    return;
  }
  const onButton = event.target instanceof HTMLButtonElement;
  const actions = { KeyN: () => request("next"), KeyR: () => request("again"), KeyC: switchCamera, KeyM: switchMap, KeyP: act };
  if ((event.code === "Space" || event.code === "Enter") && !onButton) actions[event.code] = act;
  if (!actions[event.code] || event.repeat) return;
  event.preventDefault();
  actions[event.code]();
});
addEventListener("keyup", (event) => { if (KEYS[event.code]) release(event.code, event.timeStamp); });
addEventListener("blur", releaseAll);
document.addEventListener("visibilitychange", () => { if (document.hidden) { releaseAll(); request("pause"); } });
for (const pad of document.querySelectorAll("[data-pad]")) {
  const source = `pad ${pad.dataset.pad}`;
  const let_go = (event) => { pad.classList.remove("held"); release(source, event.timeStamp); };
  pad.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    pad.setPointerCapture(event.pointerId);
    pad.classList.add("held");
    hold(source, pad.dataset.pad, event.timeStamp);
  });
  pad.addEventListener("pointerup", let_go);
  pad.addEventListener("pointercancel", let_go);
  pad.addEventListener("contextmenu", (event) => event.preventDefault());
}

// ---- to the server --------------------------------------------------------------------------------------------
function send(message) { if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); }
function sendControls() {
  advanceInput();
  const short = (value) => Math.round(value * 1000) / 1000;
  number += 1;
  send({
    type: "controls", number, seen: frame ? frame.frame : 0,
    steer: short(input.steer), throttle: short(input.throttle), brake: short(input.brake),
  });
}
function request(what) { send({ type: "wish", what }); }
function switchCamera() { view.camera = view.camera === "driver" ? "recorded" : "driver"; sendView(); }
function switchMap() { view.map = !view.map; sendView(); }
function sendView() {
  part("camera").setAttribute("aria-pressed", String(view.camera === "recorded"));
  part("above").setAttribute("aria-pressed", String(view.map));
  state.map = String(view.map);
  send({ type: "view", ...view });
}
/** What Space does: start, pause, go on, next episode, take the seat. */
function act() {
  if (state.link === "replaced") { retrying = true; connect(); return; }
  request({ ready: "go", paused: "go", driving: "pause", over: "next" }[state.phase] || "go");
}
part("go").addEventListener("click", act);
part("panel-go").addEventListener("click", act);
part("again").addEventListener("click", () => request("again"));
part("next").addEventListener("click", () => request("next"));
part("camera").addEventListener("click", switchCamera);
part("above").addEventListener("click", switchMap);

// ---- delay from a key to the picture that shows its effect ----------------------------------------------------
const delays = [];
let waitsFor = null;
function changed(at) {
  input.at = Math.min(input.at, performance.now() - 10); // a tap has an effect at once
  sendControls();
  if (waitsFor === null && state.phase === "driving") waitsFor = { number, at };
}
function noteDelay() {
  if (waitsFor === null || frame.follows < waitsFor.number) {
    if (frame.phase !== "driving") waitsFor = null;
    return;
  }
  delays.push(performance.now() - waitsFor.at);
  waitsFor = null;
  if (delays.length > 200) delays.shift();
  const sorted = [...delays].sort((a, b) => a - b);
  state.delay = sorted[sorted.length >> 1].toFixed(1);
  state.delays = delays.length;
  part("delay").textContent = `${Math.round(state.delay)} ms`;
}

// ---- from the server ------------------------------------------------------------------------------------------
async function show(data) {
  const length = new DataView(data).getUint32(0);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
  let start = 4 + length;
  const pictures = [];
  for (const [name, size] of Object.entries(header.pictures)) {
    const blob = new Blob([new Uint8Array(data, start, size)], { type: "image/jpeg" });
    pictures.push(createImageBitmap(blob).then((bitmap) => [name, bitmap]));
    start += size;
  }
  for (const [name, bitmap] of await Promise.all(pictures)) {
    const canvas = part(name === "main" ? "picture" : "map");
    if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
      canvas.width = bitmap.width;
      canvas.height = bitmap.height;
    }
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    bitmap.close();
  }
  frame = header;
  sendControls();
  noteDelay();
  tell();
}

function tell() {
  const words = frame.scenario.split("-"), fresh = state.phase !== frame.phase;
  Object.assign(state, { phase: frame.phase, frame: frame.frame, outcome: frame.outcome });
  Object.assign(state, { kept: frame.kept_episodes, slow: frame.pace < 0.93 });
  part("about").textContent = `${frame.task}, ${words[0]} ${words[1]} · ${frame.weather} · seed ${frame.seed}`;
  const episodes = frame.kept_episodes === 1 ? "1 episode" : `${frame.kept_episodes} episodes`;
  part("kept").textContent = `${episodes}, ${frame.kept_frames} frames`;
  part("pace").textContent = `${frame.pace.toFixed(1)}×`;
  part("time").textContent = frame.time_s.toFixed(1);
  part("limit").textContent = frame.time_limit_s.toFixed(0);
  part("kmh").textContent = Math.round(Math.max(0, frame.speed_mps) * 3.6);
  const [lateral, push] = frame.command, [steer, throttle, brake] = frame.controls;
  part("arrow").setAttribute("d", ARROWS[lateral]);
  part("lateral").textContent = LATERAL[lateral];
  part("longitudinal").textContent = LONGITUDINAL[push];
  part("command").dataset.push = push;
  part("steer").firstElementChild.style.setProperty("--value", -steer);
  part("throttle").firstElementChild.style.setProperty("--value", throttle);
  part("brake").firstElementChild.style.setProperty("--value", brake);
  if (fresh || frame.phase === "over") tellPhase();
}

function button(text) {
  for (const id of ["go", "panel-go"]) part(id).firstChild.textContent = `${text} `;
}
function panel(over, title, text, action, good = "") {
  part("panel-over").textContent = over;
  part("panel-title").textContent = title;
  part("panel-text").textContent = text;
  part("panel-go").hidden = !action;
  if (action) button(action);
  Object.assign(state, { panel: "true", good });
  part("status").textContent = `${title}. ${text}`;
}
function tellPhase() {
  const over = `Episode ${frame.episode}`, task = frame.task[0].toUpperCase() + frame.task.slice(1);
  if (frame.phase === "loading") panel(over, "Loading …", "The first time on a machine this takes a minute.", "");
  if (frame.phase === "ready") panel(over, task, "Leave the intersection in your lane. Follow the dots on the map.", "Start");
  if (frame.phase === "paused") panel(over, "Paused", "", "Go on");
  if (frame.phase === "over") {
    const [title, text] = OUTCOMES[frame.outcome] || [frame.outcome, ""];
    panel(over, title, `${text} ${frame.time_s.toFixed(1)} s.`, "Next episode", String(frame.outcome === "success"));
  }
  if (frame.phase === "driving") { state.panel = "false"; button("Pause"); part("status").textContent = "Driving"; }
}

let complaintTimer = 0;
function complain(message, stays = false) {
  const box = part("complaint");
  box.textContent = message;
  box.hidden = false;
  clearTimeout(complaintTimer);
  if (!stays) complaintTimer = setTimeout(() => { box.hidden = true; }, 6000);
}

function connect() {
  const address = new URL("drive", location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const opened = new WebSocket(address);
  socket = opened;
  opened.binaryType = "arraybuffer";
  opened.onopen = () => { retry = 500; state.link = "open"; part("complaint").hidden = true; state.phase = ""; sendView(); };
  opened.onmessage = (event) => {
    if (typeof event.data !== "string") {
      shown = shown.then(() => show(event.data)).catch((error) => complain(String(error)));
      return;
    }
    const message = JSON.parse(event.data);
    retrying = retrying && !message.final;
    complain(message.message, message.final);
  };
  opened.onclose = (event) => {
    if (socket !== opened) return;
    releaseAll();
    state.phase = "";
    if (event.code === 4001) {
      state.link = "replaced";
      panel("", "Another page drives now", "", "Drive here");
      return;
    }
    state.link = "lost";
    if (!retrying) { panel("", "The server has ended", "Start it again and open its new link.", ""); return; }
    panel("", "Connection lost", "The episode is paused. Trying again …", "");
    setTimeout(connect, retry);
    retry = Math.min(2 * retry, 4000);
  };
}
connect();
pollGamepad();
})();
