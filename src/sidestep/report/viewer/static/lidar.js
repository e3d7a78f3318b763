// A noise-free planar scan from the robot's centre, recomputed from what the record holds: walls, people and other machines.

const LIDAR_RAYS = 240, LIDAR_REACH_M = 10;

// [x, y, whether something was hit] per ray.
const scan = (episode, f) => {
  const [x, y, heading] = episode.robotAt(f), walls = episode.scene.walls;
  const discs = episode.peopleAt(f).flatMap((p, i) => (p ? [[p[0] - x, p[1] - y, episode.radius[i]]] : []));
  episode.other_radius.forEach((r, i) => { const p = episode.otherAt(i, f); if (p) discs.push([p[0] - x, p[1] - y, r]); });
  return Array.from({ length: LIDAR_RAYS }, (_, k) => {
    const angle = heading + (2 * Math.PI * k) / LIDAR_RAYS, dx = Math.cos(angle), dy = Math.sin(angle);
    let reach = LIDAR_REACH_M;
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
    return [x + dx * reach, y + dy * reach, reach < LIDAR_REACH_M];
  });
};
