// Cards with a small player each: painted when they come into sight, played in place, or opened in the large player.

class Card {
  constructor(element, data) {
    this.element = element; this.data = data; this.view = null; this.playing = false;
    this.canvas = element.querySelector("canvas"); this.bar = element.querySelector("[data-part=bar]");
    this.canvas.addEventListener("click", () => this.play(!this.playing));
    this.canvas.addEventListener("keydown", (e) => { if (e.key === " " || e.key === "Enter") { e.preventDefault(); this.play(!this.playing); } });
    onThemeChange(() => { if (this.view) { this.view.show(this.episode, readColours()); this.paint(); } });
    new IntersectionObserver((seen) => { if (seen.some((s) => s.isIntersecting)) this.wake(); else this.play(false); }).observe(element);
  }

  wake() {
    if (this.view) return;
    this.episode = new Episode(this.data.episodes[Number(this.element.dataset.episode)], this.data);
    this.view = new TopView(this.canvas);
    this.view.show(this.episode, readColours());
    this.time = this.episode.events.find((e) => EVENT_COLOUR(e.kind) === "hit")?.time ?? this.episode.duration;
    this.paint();
  }

  play(on) {
    if (!this.view || on === this.playing) return;
    this.playing = on; this.before = 0; this.element.dataset.playing = on;
    if (!on) return;
    this.time = this.time >= this.episode.duration || !this.started ? 0 : this.time;
    this.started = true;
    requestAnimationFrame((stamp) => this.tick(stamp));
  }

  tick(stamp) {
    if (!this.playing) return;
    this.time += this.before ? (2 * Math.min(stamp - this.before, 250)) / 1000 : 0;
    this.before = stamp;
    if (this.time >= this.episode.duration) { this.time = this.episode.duration; this.play(false); }
    this.paint();
    requestAnimationFrame((next) => this.tick(next));
  }

  paint() {
    const [x0, y0, x1, y1] = this.episode.view, { clientWidth: width, clientHeight: height } = this.canvas;
    const scale = Math.min(width / (x1 - x0), height / (y1 - y0));
    this.view.paint(this.time, { x: (x0 + x1) / 2, y: (y0 + y1) / 2, scale }, { trails: true, scale: false });
    this.bar.style.width = `${(100 * this.time) / Math.max(this.episode.duration, 1e-9)}%`;
    this.element.dataset.time = this.time.toFixed(3);
  }
}
