// The player: one element with data-part children, one episode at a time. Text only ever enters the page as textContent.

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const LONG_M = 70, AROUND_M = 26; // a place larger than the first is shown that far about the robot, which is followed
const VIEWS = ["orbit", "top", "chase"];
const TOGGLES = { plans: "i", gestures: "g", trails: "t", space: "p", arrows: "v", lidar: "l", follow: "f" };

class Player {
  constructor(root, data) {
    this.root = root; this.data = data;
    this.part = (name) => root.querySelector(`[data-part="${name}"]`);
    this.time = 0; this.playing = false; this.before = 0; this.waiting = false; this.offset = [0, 0];
    this.camera = new Camera();
    this.top = new TopView(this.part("flat"));
    try { this.orbit = new OrbitView(this.part("deep")); } catch (error) { this.orbit = null; }
    this.labels = new Labels(this.part("labels"));
    this.curves = new Curves(this.part("curves"), (t) => this.seek(t));
    this.#listen();
    this.setView(this.orbit ? "orbit" : "top");
    if (!this.orbit) for (const view of ["orbit", "chase"]) { const b = this.part("view-" + view); b.disabled = true; b.title = "This browser has no WebGL"; }
  }

  // Episode `index` from its start.
  choose(index) {
    const packed = this.data.episodes[index], policy = this.part("policy"), scenario = this.part("scenario");
    this.setPlaying(false);
    if (policy.value !== packed.policy || !scenario.options.length) { policy.value = packed.policy; this.#listScenarios(packed.policy); }
    scenario.value = String(index);
    this.episode = new Episode(packed, this.data);
    this.time = 0; this.offset = [0, 0];
    fillEventLane(this.part("events"), this.episode, (t) => this.seek(t));
    this.part("log").replaceChildren(...this.episode.events.map((event) => this.#logLine(event)));
    const outcome = this.part("fact-outcome");
    outcome.textContent = packed.outcome.replaceAll("_", " "); outcome.style.setProperty("--outcome", this.data.outcomes[packed.outcome]);
    this.part("fact-source").textContent = packed.source;
    for (const canvas of ["flat", "deep"]) this.part(canvas).setAttribute("aria-label", `${packed.policy}, ${this.episode.title}`);
    this.root.dataset.episode = index;
    for (const name of ["policy", "scenario"]) this.part(name).closest("label").hidden = this.data.episodes.length === 1;
    const { plans, gestures } = this.episode, [x0, y0, x1, y1] = this.episode.view;
    this.part("plans").disabled = !plans; this.part("gestures").disabled = !gestures.length && !this.episode.events.some((e) => e.kind in EVENT_WORDS);
    for (const name of ["plans", "gestures"]) this.part(name).closest("label").title = this.part(name).disabled ? "The record holds none" : "";
    if (Math.max(x1 - x0, y1 - y0) > LONG_M) this.part("follow").checked = true;
    this.part("scrub").max = String(Math.max(1000, Math.round(20 * this.episode.duration)));
    fillLegend(this.part("legend"), this.episode);
    this.dress(); this.resetCamera(); this.paint();
  }

  // Again in the colours of the theme.
  dress() {
    const colours = readColours();
    for (const view of [this.top, this.orbit, this.curves]) view?.show(this.episode, colours);
  }

  resetCamera() {
    const screen = this.part("screen");
    this.offset = [0, 0];
    const [x0, y0, x1, y1] = this.episode.view, [x, y] = this.episode.robotAt(this.episode.frameAt(this.time));
    const near = this.part("follow").checked && Math.max(x1 - x0, y1 - y0) > LONG_M;
    const view = near ? [x - AROUND_M / 2, y - AROUND_M / 2, x + AROUND_M / 2, y + AROUND_M / 2] : this.episode.view;
    this.unsized = !screen.clientWidth; // a page in a frame has no size at first
    this.camera.reset(view, this.unsized ? 1.6 : screen.clientWidth / Math.max(screen.clientHeight, 1));
    this.requestPaint();
  }

  setView(view) {
    this.view = this.orbit ? view : "top";
    this.part("flat").hidden = this.view !== "top"; this.part("deep").hidden = this.view === "top";
    for (const each of VIEWS) this.part("view-" + each).setAttribute("aria-pressed", String(each === this.view));
    this.root.dataset.view = this.view;
    if (this.episode) this.requestPaint();
  }

  setPlaying(on) {
    if (on && this.time >= this.episode.duration) this.time = 0;
    this.playing = on; this.before = 0;
    const play = this.part("play");
    play.textContent = on ? "❚❚ Pause" : "▶ Play"; play.setAttribute("aria-pressed", String(on));
    this.root.dataset.playing = on;
    if (on) requestAnimationFrame((stamp) => this.#tick(stamp));
  }

  setHelp(open) {
    this.part("sheet").hidden = !open; this.part("help").setAttribute("aria-expanded", String(open));
    if (open) this.part("close").focus({ preventScroll: true });
  }

  seek(time) { this.time = clamp(time, 0, this.episode.duration); this.requestPaint(); }
  setSpeed(steps) { const speed = this.part("speed"); speed.selectedIndex = clamp(speed.selectedIndex + steps, 0, SPEEDS.length - 1); }

  #tick(stamp) {
    if (!this.playing) return;
    this.time += this.before ? Math.min((stamp - this.before) / 1000, 0.25) * Number(this.part("speed").value) : 0;
    this.before = stamp;
    if (this.time >= this.episode.duration) { this.time = this.episode.duration; this.setPlaying(false); }
    this.paint();
    if (this.playing) requestAnimationFrame((next) => this.#tick(next));
  }

  // At most one painting per frame of the screen, however many events ask for it.
  requestPaint() {
    if (this.waiting || this.playing) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  paint() {
    const e = this.episode, f = e.frameAt(this.time), robot = e.robotAt(f), { camera } = this;
    const shown = Object.fromEntries(Object.keys(TOGGLES).map((name) => [name, this.part(name).checked]));
    if (shown.follow) { camera.x = robot[0] + this.offset[0]; camera.y = robot[1] + this.offset[1]; }
    if (this.view === "top") this.top.paint(this.time, { x: camera.x, y: camera.y, scale: camera.scale(this.part("flat").clientHeight) }, shown);
    else this.orbit.paint(this.time, this.view === "chase" ? this.#behind(robot) : camera, shown);
    const poses = e.peopleAt(f), words = shown.gestures ? wordsAt(e, f, poses) : [], plans = shown.plans ? e.plansAt(f, poses) : { plan: [], forecasts: [] };
    this.labels.show(words, (p) => (this.view === "top" ? this.top : this.orbit).project(p));
    Object.assign(this.root.dataset, { plan: plans.plan.length, forecasts: plans.forecasts.length, labels: words.map((word) => word.text).join(" ") });
    this.curves.paint(this.time);
    this.#tell(f, robot);
  }

  // A camera behind the robot's shoulder.
  #behind([x, y, heading]) {
    const camera = new Camera();
    Object.assign(camera, { x: x + 1.5 * Math.cos(heading), y: y + 1.5 * Math.sin(heading), height: 0.9, azimuth: heading + Math.PI, elevation: 0.4, distance: 7 });
    return camera;
  }

  #tell(f, robot) {
    const e = this.episode, scrub = this.part("scrub");
    scrub.value = String(Math.round((this.time / Math.max(e.duration, 1e-9)) * Number(scrub.max)));
    scrub.setAttribute("aria-valuetext", `${this.time.toFixed(1)} seconds`);
    this.part("clock").textContent = `${this.time.toFixed(2)} / ${e.duration.toFixed(2)} s`;
    this.part("fact-speed").textContent = `${Math.hypot(...e.robotVelocity(f)).toFixed(2)} m/s`;
    this.part("fact-place").textContent = `${robot[0].toFixed(2)}, ${robot[1].toFixed(2)} m`;
    this.part("fact-people").textContent = String(e.peopleAt(f).filter(Boolean).length);
    this.root.dataset.time = this.time.toFixed(3);
  }

  #logLine(event) {
    const item = document.createElement("li"), button = document.createElement("button"), when = document.createElement("time");
    button.type = "button"; when.textContent = `${event.time.toFixed(1)} s`;
    button.append(when, event.text);
    button.addEventListener("click", () => this.seek(event.time));
    item.append(button);
    return item;
  }

  #option(value, text) { const o = document.createElement("option"); o.value = value; o.textContent = text; return o; }
  #listScenarios(policy) {
    const label = (e) => `${e.scenario} · seed ${e.seed} · ${e.outcome.replaceAll("_", " ")}`;
    this.part("scenario").replaceChildren(...this.data.episodes.flatMap((e, i) => (e.policy === policy ? [this.#option(i, label(e))] : [])));
  }

  #listen() {
    const { root, data, part } = this, on = (name, event, action) => part(name).addEventListener(event, action);
    part("policy").replaceChildren(...[...new Set(data.episodes.map((e) => e.policy))].map((p) => this.#option(p, p)));
    on("policy", "change", (e) => {
      const of = data.episodes.map((each, i) => [each, i]).filter(([each]) => each.policy === e.target.value);
      const same = of.find(([each]) => each.scenario === this.episode.scenario && each.seed === this.episode.seed);
      this.#listScenarios(e.target.value); this.choose((same || of[0])[1]);
    });
    on("scenario", "change", (e) => this.choose(Number(e.target.value)));
    on("play", "click", () => this.setPlaying(!this.playing));
    on("back", "click", () => this.seek(this.time - 0.1));
    on("forth", "click", () => this.seek(this.time + 0.1));
    on("scrub", "input", (e) => this.seek((Number(e.target.value) / Number(e.target.max)) * this.episode.duration));
    on("help", "click", () => this.setHelp(this.part("sheet").hidden));
    on("close", "click", () => this.setHelp(false));
    on("reset", "click", () => this.resetCamera());
    on("wide", "click", () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen?.()));
    for (const name of Object.keys(TOGGLES)) on(name, "change", () => { this.offset = [0, 0]; this.requestPaint(); });
    for (const view of VIEWS) on("view-" + view, "click", () => this.setView(view));
    const screen = part("screen");
    steer(screen, this.camera, {
      isTop: () => this.view === "top",
      wheel: () => root.dataset.page === "whole" || screen.contains(document.activeElement) || Boolean(document.fullscreenElement),
      moved: (panned) => this.#moved(panned),
      tap: () => { this.part(this.view === "top" ? "flat" : "deep").focus({ preventScroll: true }); this.setPlaying(!this.playing); },
    });
    showTips(root, part("tip"));
    (root.dataset.page === "whole" ? document : root).addEventListener("keydown", (e) => this.#key(e));
    part("deep").addEventListener("webglcontextlost", () => { this.orbit = null; this.setView("top"); });
    onThemeChange(() => { this.dress(); this.requestPaint(); });
    new ResizeObserver(() => {
      if (this.episode && this.unsized && screen.clientWidth) this.resetCamera();
      else if (this.episode) this.requestPaint();
    }).observe(root);
  }

  #moved(panned) {
    if (this.view === "chase") this.setView("orbit");
    if (panned && this.part("follow").checked) {
      const robot = this.episode.robotAt(this.episode.frameAt(this.time));
      this.offset = [this.camera.x - robot[0], this.camera.y - robot[1]];
    }
    this.requestPaint();
  }

  #key(e) {
    const field = e.target.matches("select, input, button, summary"), own = e.target === this.part("scrub");
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = e.shiftKey ? 1 : 0.1;
    const seeks = { ArrowLeft: this.time - step, ArrowRight: this.time + step, Home: 0, End: this.episode.duration };
    const acts = {
      " ": () => this.setPlaying(!this.playing), "+": () => this.setSpeed(1), "-": () => this.setSpeed(-1), 0: () => this.resetCamera(),
      "?": () => this.setHelp(this.part("sheet").hidden), Escape: () => this.setHelp(false),
      1: () => this.setView("orbit"), 2: () => this.setView("top"), 3: () => this.setView("chase"),
    };
    for (const [name, key] of Object.entries(TOGGLES)) acts[key] = () => this.part(name).click();
    if (e.key in seeks && (!field || own)) { e.preventDefault(); this.seek(seeks[e.key]); }
    else if (e.key in acts && !(field && e.key === " ") && !e.target.matches("select")) { e.preventDefault(); acts[e.key](); }
  }
}
