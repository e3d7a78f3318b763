// Where we look from: a point on the ground, two angles and a distance; both views share it. Pointer, wheel and touch move it.

const FIELD_OF_VIEW = 0.5; // rad, vertical
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

class Camera {
  constructor() { this.reset([-5, -5, 5, 5], 1.6); }

  reset([x0, y0, x1, y1], aspect) {
    this.x = (x0 + x1) / 2; this.y = (y0 + y1) / 2;
    const tall = Math.max(y1 - y0, (x1 - x0) / aspect);
    this.distance = ((aspect < 1.3 ? 0.56 : 0.46) * tall) / Math.tan(FIELD_OF_VIEW / 2);
    this.azimuth = -Math.PI / 2 - 0.2; this.elevation = 0.82; // from the south, a little to the west
  }

  // Pixels per metre in a top view as high as the canvas.
  scale(height) { return height / (2 * this.distance * Math.tan(FIELD_OF_VIEW / 2)); }

  eye() {
    const flat = this.distance * Math.cos(this.elevation);
    return [this.x + flat * Math.cos(this.azimuth), this.y + flat * Math.sin(this.azimuth), this.distance * Math.sin(this.elevation)];
  }

  turn(right, up) { this.azimuth -= right; this.elevation = clamp(this.elevation + up, 0.05, 1.55); }
  zoom(factor) { this.distance = clamp(this.distance * factor, 1.5, 500); }

  // Move the point looked at by pixels of a canvas, along the picture's right and up.
  pan(right, up, height, top) {
    const metres = 1 / this.scale(height);
    if (top) { this.x -= right * metres; this.y -= up * metres; return; }
    const a = this.azimuth, ahead = metres / Math.max(Math.sin(this.elevation), 0.3);
    this.x += right * metres * Math.sin(a) + up * ahead * Math.cos(a);
    this.y += -right * metres * Math.cos(a) + up * ahead * Math.sin(a);
  }
}

// `isTop()` says whether dragging turns or moves; `wheel()` whether the wheel is ours; `tap()` is a press without a drag.
const steer = (element, camera, { isTop, wheel, moved, tap }) => {
  const pointers = new Map();
  let travelled = 0;
  const spread = () => { const [a, b] = [...pointers.values()]; return Math.hypot(a.x - b.x, a.y - b.y); };
  element.addEventListener("pointerdown", (e) => {
    if (e.target.closest("button, .sheet")) return;
    element.setPointerCapture(e.pointerId);
    pointers.set(e.pointerId, { x: e.clientX, y: e.clientY });
    travelled = 0;
  });
  element.addEventListener("pointermove", (e) => {
    const last = pointers.get(e.pointerId);
    if (!last) return;
    const dx = e.clientX - last.x, dy = e.clientY - last.y, before = pointers.size === 2 ? spread() : 0;
    travelled += Math.abs(dx) + Math.abs(dy);
    last.x = e.clientX; last.y = e.clientY;
    if (travelled < 4) return;
    if (pointers.size === 2) { camera.zoom(before / Math.max(spread(), 1)); camera.pan(dx / 2, -dy / 2, element.clientHeight, isTop()); }
    else if (isTop() || e.shiftKey || e.buttons & 6) camera.pan(dx, -dy, element.clientHeight, isTop());
    else camera.turn(dx * 0.008, dy * 0.006);
    moved(isTop() || pointers.size === 2 || e.shiftKey || Boolean(e.buttons & 6));
  });
  const lift = (e) => {
    if (pointers.delete(e.pointerId) && travelled < 4 && e.type === "pointerup" && e.button === 0) tap();
  };
  element.addEventListener("pointerup", lift);
  element.addEventListener("pointercancel", lift);
  element.addEventListener("contextmenu", (e) => e.preventDefault());
  element.addEventListener("wheel", (e) => {
    if (!wheel() || e.target.closest(".sheet")) return;
    e.preventDefault(); camera.zoom(Math.exp(clamp(e.deltaY, -200, 200) * 0.0015)); moved(false);
  }, { passive: false });
};
