// The episode in 3D. Order of drawing: ground, shadows and decals (none of which needs depth), then everything that stands.

const WALL_HEIGHT_M = 1.3, HIGHEST_M = 2.6, WALL_THICKNESS_M = 0.12; // lower than real, so that one looks over the walls
const GROUND_PX = 2048, ROOF_PX = 1024; // across a painting
const SHARP_M = 55; // half of what is painted at least about the point looked at

const inRing = (ring, x, y) => {
  let inside = false;
  for (let i = 0, j = ring.length - 2; i < ring.length; j = i, i += 2)
    if (ring[i + 1] > y !== ring[j + 1] > y && x < ((ring[j] - ring[i]) * (y - ring[i + 1])) / (ring[j + 1] - ring[i + 1]) + ring[i]) inside = !inside;
  return inside;
};

// What stands: solid layers and, in a floor plan, holes of a floor that no other floor fills.
const solidsOf = (scene) => {
  const solids = scene.layers.filter(isSolid), floors = scene.layers.filter((layer) => !isSolid(layer));
  const filled = (hole, own) => floors.some((floor) => floor !== own && inRing(floor.rings[0], hole[0], hole[1]));
  const holes = scene.outside_solid ? floors.flatMap((floor) => floor.rings.slice(1).filter((hole) => !filled(hole, floor))) : [];
  return [...solids, ...holes.map((ring) => ({ kind: "obstacle", rings: [ring], height: WALL_HEIGHT_M }))];
};
const shownHeight = (layer) => Math.min(layer.height, HIGHEST_M);

class OrbitView {
  // Throws where there is no WebGL.
  constructor(canvas) {
    this.canvas = canvas;
    const gl = this.gl = canvas.getContext("webgl2", { antialias: true, stencil: true, alpha: false, powerPreference: "low-power" });
    if (!gl) throw new Error("no WebGL");
    this.mesh = makeProgram(gl, ...MESH_SHADER);
    this.capsule = makeProgram(gl, ...CAPSULE_SHADER);
    this.plane = makeProgram(gl, ...PLANE_SHADER);
    this.decal = makeProgram(gl, ...DECAL_SHADER);
    const solid = [["position", 3], ["normal", 3], ["colour", 3]];
    this.walls = new Vertices(gl, [...solid, ["open", 2]]); this.robot = new Vertices(gl, solid); this.others = [];
    this.limb = new Vertices(gl, [["way", 3], ["end", 1]]).fill(capsuleMesh());
    this.limbs = new Vertices(gl, [["from", 3], ["to", 3], ["radius", 1], ["colour", 3]], true);
    this.decals = new Vertices(gl, [["position", 3], ["colour", 4]]);
    this.planes = [];
    gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA); gl.clearStencil(0);
  }

  show(episode, colours) {
    const { gl } = this;
    this.episode = episode; this.colours = colours;
    this.rgb = Object.fromEntries(Object.entries(colours).map(([name, value]) => [name, rgb(value)]));
    this.shirts = episode.colours.map(rgb);
    const solid = [["position", 3], ["normal", 3], ["colour", 3]], dark = [0.16, 0.18, 0.22];
    this.robot.fill(machineMesh(episode.footprint, episode.height, this.rgb.robot, dark));
    for (const other of this.others) gl.deleteBuffer(other.buffer);
    this.others = episode.other_body.map((body) => new Vertices(gl, solid).fill(machineMesh(body, body.height || 1.2 * Math.max(body.radius, 0.4), this.rgb.quiet, dark)));
    const place = [episode.scene, colours["g-solid"], colours["g-road"], ...episode.view];
    if (this.place?.every((value, k) => value === place[k])) return;
    this.place = place;
    this.walls.fill(this.#wallMesh());
    this.painted = null;
  }

  // Solid lies to the left of a wall's edge. Solids get one face; what bounds a floor plan gets a board that is left out
  // from behind; edges of no area get a board of two faces.
  #wallMesh() {
    const { scene } = this.episode, solids = solidsOf(scene), out = [];
    const w = scene.walls, corner = (p, normal, colour, open) => out.push(...p, ...normal, ...colour, ...open);
    const quad = (a, b, c, d, ...rest) => { for (const p of [a, b, c, a, c, d]) corner(p, ...rest); };
    for (let i = 0; i < w.length; i += 4) {
      const [x0, y0, x1, y1] = [w[i], w[i + 1], w[i + 2], w[i + 3]], length = Math.hypot(x1 - x0, y1 - y0);
      if (length < 1e-3) continue;
      const nx = (y1 - y0) / length, ny = (x0 - x1) / length, x = (x0 + x1) / 2 - 0.02 * nx, y = (y0 + y1) / 2 - 0.02 * ny;
      const of = solids.filter((layer) => inRing(layer.rings[0], x, y)).sort((a, b) => b.height - a.height)[0];
      const height = of ? shownHeight(of) : WALL_HEIGHT_M, colour = this.rgb["g-" + (of ? of.kind : "solid")];
      const open = !of && scene.outside_solid ? [nx, ny] : [0, 0], [bx, by] = [-WALL_THICKNESS_M * nx, -WALL_THICKNESS_M * ny];
      const face = (sx, sy, normal) => quad([x0 + sx, y0 + sy, 0], [x1 + sx, y1 + sy, 0], [x1 + sx, y1 + sy, height], [x0 + sx, y0 + sy, height], normal, colour, open);
      face(0, 0, [nx, ny, 0]);
      if (of) continue;
      quad([x0, y0, height], [x1, y1, height], [x1 + bx, y1 + by, height], [x0 + bx, y0 + by, height], [0, 0, 1], colour, open);
      face(bx, by, [-nx, -ny, 0]);
    }
    return out;
  }

  // A small place is painted once and whole. Of a large one what lies about the point looked at, sharp enough for the distance.
  #keepPainted(camera) {
    const [x0, y0, x1, y1] = this.episode.view, size = Math.max(x1 - x0, y1 - y0), whole = size + 6;
    const half = Math.min(whole, Math.max(SHARP_M, 1.3 * camera.distance)), now = this.painted;
    if (half === whole) {
      if (now?.half !== whole) this.#paintPlanes((x0 + x1) / 2, (y0 + y1) / 2, whole);
      return;
    }
    const near = now && Math.max(Math.abs(camera.x - now.x), Math.abs(camera.y - now.y)) < 0.35 * now.half;
    if (!near || half > 1.4 * now.half || half < 0.6 * now.half) this.#paintPlanes(camera.x, camera.y, half);
  }

  // The ground, and one plane for every height of roof, each with its own painting.
  #paintPlanes(x, y, half) {
    const { gl, episode, colours } = this, { scene } = episode, map = (across) => ({ scale: across / (2 * half), left: x - half, top: y + half });
    this.painted = { x, y, half };
    for (const plane of this.planes) { gl.deleteTexture(plane.texture); gl.deleteBuffer(plane.corners.buffer); }
    this.planes = [];
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = GROUND_PX;
    const c = canvas.getContext("2d"), add = (height, bright) => this.planes.push(this.#plane(canvas, map(1), 2 * half, height, bright));
    paintGround(c, map(GROUND_PX), scene, colours);
    add(0, 1);
    canvas.width = canvas.height = ROOF_PX;
    const solids = solidsOf(scene), heights = new Set(solids.map(shownHeight));
    for (const height of [...heights].sort((a, b) => a - b)) {
      c.clearRect(0, 0, ROOF_PX, ROOF_PX);
      for (const layer of solids.filter((l) => shownHeight(l) === height)) fillLayer(c, map(ROOF_PX), layer, colours);
      add(height, isDark() ? 1.25 : 1.07);
    }
  }

  #plane(canvas, v, across, height, bright) {
    const { gl } = this, texture = gl.createTexture(), [l, t, r, b] = [v.left, v.top, v.left + across, v.top - across];
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, true);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, canvas);
    gl.generateMipmap(gl.TEXTURE_2D);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
    const sharp = gl.getExtension("EXT_texture_filter_anisotropic");
    if (sharp) gl.texParameterf(gl.TEXTURE_2D, sharp.TEXTURE_MAX_ANISOTROPY_EXT, 8);
    const corners = [[l, t, 0, 0], [l, b, 0, 1], [r, b, 1, 1], [l, t, 0, 0], [r, b, 1, 1], [r, t, 1, 0]];
    return { texture, bright, height, corners: new Vertices(gl, [["position", 3], ["place", 2]]).fill(corners.flatMap(([x, y, s, q]) => [x, y, height, s, q])) };
  }

  paint(time, camera, shown) {
    const { gl, episode: e, canvas } = this;
    fitCanvas(canvas);
    const f = e.frameAt(time), poses = e.peopleAt(f), touched = e.touched(time), night = isDark() ? 1 : 0;
    this.eye = camera.eye();
    this.matrix = multiply(
      perspective(FIELD_OF_VIEW, canvas.width / canvas.height, 0.03 * camera.distance, 40 * camera.distance),
      lookAt(this.eye, [camera.x, camera.y, camera.height ?? 0.6]),
    );
    this.night = night;
    this.#keepPainted(camera);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...this.rgb.sky, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    this.limbs.fill(this.#figures(f, poses, touched), gl.DYNAMIC_DRAW);
    gl.disable(gl.DEPTH_TEST);
    this.#drawPlane(this.planes[0]);
    this.#drawMarks(this.#groundMarks(f, time, poses, touched, shown));
    gl.enable(gl.STENCIL_TEST); gl.stencilFunc(gl.EQUAL, 0, 255); gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    this.#drawStanding(f, night ? 0.35 : 0.17);
    gl.disable(gl.STENCIL_TEST);
    gl.enable(gl.DEPTH_TEST);
    this.#drawStanding(f, 0);
    for (const plane of this.planes.slice(1)) this.#drawPlane(plane);
  }

  // Where a point of the world is in the picture, CSS pixels; null behind the camera.
  project([x, y, z]) {
    const m = this.matrix, w = m[3] * x + m[7] * y + m[11] * z + m[15], { clientWidth, clientHeight } = this.canvas;
    if (w <= 0) return null;
    const sx = (m[0] * x + m[4] * y + m[8] * z + m[12]) / w, sy = (m[1] * x + m[5] * y + m[9] * z + m[13]) / w;
    return [((1 + sx) / 2) * clientWidth, ((1 - sy) / 2) * clientHeight];
  }

  #drawPlane({ texture, bright, corners }) {
    const { gl, plane } = this;
    gl.useProgram(plane.program);
    gl.uniformMatrix4fv(plane.uniforms.camera, false, this.matrix);
    gl.uniform3fv(plane.uniforms.sky, this.rgb.sky);
    gl.uniform1f(plane.uniforms.bright, bright);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    corners.draw(plane);
  }

  #drawMarks(values) {
    const { gl, decal, decals } = this;
    gl.useProgram(decal.program);
    gl.uniformMatrix4fv(decal.uniforms.camera, false, this.matrix);
    decals.fill(values, gl.DYNAMIC_DRAW).draw(decal);
  }

  // Walls, machines and people; as shadows on the ground if `shadow` (their darkness) is above 0.
  #drawStanding(f, shadow) {
    const { gl, mesh, capsule, episode: e } = this;
    const begin = ({ program, uniforms }) => {
      gl.useProgram(program);
      gl.uniformMatrix4fv(uniforms.camera, false, this.matrix);
      gl.uniform1f(uniforms.shadow, shadow);
      gl.uniform1f(uniforms.night, this.night);
    };
    const draw = (vertices, model) => {
      gl.uniformMatrix4fv(mesh.uniforms.model, false, model);
      vertices.draw(mesh);
    };
    begin(mesh);
    gl.uniform3fv(mesh.uniforms.eye, this.eye);
    draw(this.walls, IDENTITY);
    draw(this.robot, placed(e.robotAt(f)));
    this.others.forEach((other, i) => { const pose = e.otherAt(i, f); if (pose) draw(other, placed(pose)); });
    begin(capsule);
    this.limb.draw(capsule, this.limbs);
  }

  #figures(f, poses, touched) {
    const out = [], [gx, gy] = this.episode.goal, goal = this.rgb.goal, gestures = this.episode.gesturesAt(f.time);
    poses.forEach((p, i) => {
      if (!p) return;
      const shirt = touched.has(i) ? this.rgb.hit : this.shirts[i];
      addPerson(out, p, this.episode.colour[i], this.episode.walkedAt(i, f), Math.hypot(...this.episode.personVelocity(i, f)), shirt, gestures.get(i), this.episode.headAt(i, f) ?? 0, f.time);
    });
    out.push(gx, gy, 0, gx, gy, 1.7, 0.035, ...goal, gx, gy, 1.85, gx, gy, 1.85, 0.16, ...goal);
    return out;
  }

  #groundMarks(f, time, poses, touched, shown) {
    const e = this.episode, colour = this.rgb, out = [], robot = e.robotAt(f);
    addRingMark(out, ...e.goal, 0, e.goal_radius, colour.goal, 0.18);
    addRingMark(out, ...e.goal, e.goal_radius - 0.05, e.goal_radius, colour.goal, 0.9);
    addRingMark(out, e.robot[0], e.robot[1], 0.12, 0.17, colour.robot, 0.8, 24);
    if (shown.lidar) this.#lidarMarks(out, f);
    if (shown.trails) {
      poses.forEach((p, i) => { if (p) addRibbon(out, e.personTrail(i, f, TRAIL_S), 0.1, this.shirts[i], ([, , age]) => 0.7 * Math.max(0, 1 - age / TRAIL_S)); });
      for (const points of e.robotTrails(f)) addRibbon(out, points, 0.12, colour.robot, () => 0.8);
    }
    if (shown.plans) this.#planMarks(out, f, poses);
    for (const members of groupsOf(e, poses, f.time)) {
      const points = members.map((i) => poses[i]), corners = points.length > 2 ? hullOf(points) : points;
      addRibbon(out, [...corners, corners[0]], 0.22, this.shirts[members[0]], () => 0.4);
    }
    poses.forEach((p, i) => {
      if (!p) return;
      if (shown.space) {
        const reach = e.radius[i] + PERSONAL_SPACE_M, near = Math.hypot(robot[0] - p[0], robot[1] - p[1]) < reach;
        addRingMark(out, p[0], p[1], 0, reach, near ? colour.warn : this.shirts[i], near ? 0.16 : 0.06);
        addRingMark(out, p[0], p[1], reach - 0.04, reach, near ? colour.warn : this.shirts[i], near ? 0.95 : 0.6);
      }
      if (touched.has(i)) addRingMark(out, p[0], p[1], e.radius[i], e.radius[i] + 0.08, colour.hit, 0.9);
      if (shown.arrows) addArrowMark(out, p, e.personVelocity(i, f), ARROW_S, colour.ink, 0.65);
    });
    if (shown.arrows) addArrowMark(out, robot, e.robotVelocity(f), ARROW_S, colour.robot, 1);
    for (const { x, y, time: began } of e.contacts(time)) {
      const spent = (time - began) / FLASH_S;
      addRingMark(out, x, y, 0, 0.09, colour.hit, 0.95, 20);
      if (spent < 1) addRingMark(out, x, y, 0.5 + 0.6 * spent, 0.58 + 0.6 * spent, colour.hit, 1 - spent);
    }
    return out;
  }

  #planMarks(out, f, poses) {
    const { plan, forecasts } = this.episode.plansAt(f, poses), colour = this.rgb.plan;
    for (const { person, points } of forecasts) addRibbon(out, points, 0.09, this.shirts[person], ([, , ahead]) => forecastAlpha(ahead, points.at(-1)[2]));
    addRibbon(out, plan, 0.07, colour, () => 0.9);
    for (const [x, y] of plan.slice(1)) addRingMark(out, x, y, 0, 0.08, colour, 1, 12);
  }

  #lidarMarks(out, f) {
    const { x, y, hits } = scan(this.episode, f), round = this.episode.lidar.round, fan = [...this.rgb.robot, 0.08], point = this.rgb.robot;
    hits.forEach(([hx, hy, hit], k) => {
      const [jx, jy] = hits[(k + 1) % hits.length];
      if (round || k + 1 < hits.length) out.push(x, y, 0, ...fan, hx, hy, 0, ...fan, jx, jy, 0, ...fan);
      if (hit) addRingMark(out, hx, hy, 0, 0.035, point, 0.9, 6);
    });
  }
}
