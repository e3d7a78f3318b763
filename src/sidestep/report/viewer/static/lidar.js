// A noise-free planar scan from where the scanner is mounted, recomputed from what the record holds: walls, people and other machines.

// {x, y, hits}: the scanner's place, and [x, y, whether something was hit] per ray.
const scan = (episode, f) => {
  const [rx, ry, heading] = episode.robotAt(f), { mount, angle_min, increment, rays, reach: longest } = episode.lidar;
  const c = Math.cos(heading), s = Math.sin(heading), x = rx + mount[0] * c - mount[1] * s, y = ry + mount[0] * s + mount[1] * c;
  const all = episode.scene.walls, walls = [];
  for (let i = 0; i < all.length; i += 4)
    if (Math.min(all[i], all[i + 2]) < x + longest && Math.max(all[i], all[i + 2]) > x - longest && Math.min(all[i + 1], all[i + 3]) < y + longest && Math.max(all[i + 1], all[i + 3]) > y - longest)
      walls.push(all[i], all[i + 1], all[i + 2], all[i + 3]);
  const discs = episode.peopleAt(f).flatMap((p, i) => (p ? [[p[0] - x, p[1] - y, episode.radius[i]]] : []));
  episode.other_body.forEach((body, i) => {
    const p = episode.otherAt(i, f);
    if (p && body.radius) discs.push([p[0] - x, p[1] - y, body.radius]);
    if (!p || body.radius) return;
    const co = Math.cos(p[2]), si = Math.sin(p[2]), placed = body.polygon.map(([a, b]) => [p[0] + a * co - b * si, p[1] + a * si + b * co]);
    placed.forEach((corner, k) => walls.push(...corner, ...placed[(k + 1) % placed.length]));
  });
  const hits = Array.from({ length: rays }, (_, k) => {
    const angle = heading + angle_min + increment * k, dx = Math.cos(angle), dy = Math.sin(angle);
    let reach = longest;
    for (const [cx, cy, r] of discs) {
      const along = cx * dx + cy * dy, off = cx * cx + cy * cy - along * along;
      if (along > 0 && off < r * r) reach = Math.min(reach, Math.max(0, along - Math.sqrt(r * r - off)));
    }
    for (let i = 0; i < walls.length; i += 4) {
      const ex = walls[i + 2] - walls[i], ey = walls[i + 3] - walls[i + 1], ax = walls[i] - x, ay = walls[i + 1] - y;
      const cross = dx * ey - dy * ex;
      if (Math.abs(cross) < 1e-12) continue;
      const t = (ax * ey - ay * ex) / cross, u = (ax * dy - ay * dx) / cross;
      if (t >= 0 && u >= 0 && u <= 1 && t < reach) reach = t;
    }
    return [x + dx * reach, y + dy * reach, reach < longest];
  });
  return { x, y, hits };
};
