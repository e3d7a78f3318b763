// Walking figures out of capsules: [from, to, radius, colour] each, fourteen to a person.

const SKIN = ["#f1c9a5", "#d9a06f", "#a8703f", "#7a4a2b", "#e8b48a"].map(rgb);
const HAIR = ["#2a211c", "#5b3a21", "#8c6a3f", "#1c1c22", "#b8b2a8"].map(rgb);
const TROUSERS = ["#39424f", "#4b5563", "#5b5346", "#2f3b52", "#6b6f78"].map(rgb);
const STRIDE_M = 1.45; // two steps
// The right arm's elbow and hand, [ahead, left, up] in m, where a gesture moves it.
const RAISED = {
  stop: () => [[0.28, -0.22, 1.36], [0.55, -0.22, 1.42]],
  wave: (t) => [[0.08, -0.36, 1.5], [0.1, -0.36 - 0.16 * Math.sin(7 * t), 1.82]],
  go_on: (t) => [[0.2, -0.3, 1.25], [0.36, -0.12 + 0.26 * Math.sin(4 * t), 1.28]],
  phone: () => [[0.06, -0.3, 1.22], [0.1, -0.13, 1.58]],
  talk: (t) => [[0.06, -0.27, 1.14], [0.32, -0.2, 1.16 + 0.07 * Math.sin(5 * t)]],
};
const pick = (list, index, salt) => list[(Math.imul(index + 1, 0x9e3779b1) >>> (5 * salt)) % list.length]; // a hash: the same person, the same looks

// `walked`: metres so far, the phase of the gait, so that feet keep pace with the ground. `speed` in m/s.
// `gesture`: its name, or nothing; `look`: how far the head is turned, rad; `time` moves a waving hand, s.
const addPerson = (out, [x, y, heading], index, walked, speed, shirt, gesture, look = 0, time = 0) => {
  const size = 0.94 + 0.12 * ((index * 0.618) % 1), fx = Math.cos(heading), fy = Math.sin(heading);
  const phase = (2 * Math.PI * walked) / STRIDE_M + index, swing = clamp(speed / 1.3, 0, 1.2);
  const bob = 0.03 * swing * Math.abs(Math.cos(phase));
  const at = (ahead, left, up) => [x + size * (ahead * fx - left * fy), y + size * (ahead * fy + left * fx), size * up];
  const capsule = (from, to, radius, colour) => out.push(...from, ...to, radius * size, ...colour);
  const trousers = pick(TROUSERS, index, 1), skin = pick(SKIN, index, 2), hair = pick(HAIR, index, 3);
  for (const side of [1, -1]) {
    const leg = 0.5 * swing * Math.sin(phase) * side, lift = 0.09 * swing * Math.max(0, Math.cos(phase) * side);
    const foot = [0.8 * Math.sin(leg), 0.09 * side, 0.07 + lift], knee = [0.42 * Math.sin(leg) + 0.05 * swing, 0.09 * side, 0.48 + bob];
    capsule(at(0, 0.085 * side, 0.88 + bob), at(...knee), 0.085, trousers);
    capsule(at(...knee), at(...foot), 0.065, trousers);
    const raised = side < 0 && RAISED[gesture];
    const arm = -0.55 * swing * Math.sin(phase) * side, elbow = [0.3 * Math.sin(arm), 0.25 * side, 1.12 + bob];
    const hand = [0.52 * Math.sin(arm) + 0.06, 0.25 * side, 0.9 + bob], bent = raised ? raised(time) : [elbow, hand];
    capsule(at(0, 0.2 * side, 1.38 + bob), at(...bent[0]), 0.055, shirt);
    capsule(at(...bent[0]), at(...bent[1]), 0.045, skin);
    if (gesture === "stop" && side < 0) capsule(at(0.56, -0.22, 1.44), at(0.57, -0.22, 1.56), 0.06, skin);
    capsule(at(0, 0.075 * side, 0.92 + bob), at(0, 0.1 * side, 1.36 + bob), 0.125, shirt);
  }
  capsule(at(0.012, 0, 0.95 + bob), at(0.02, 0, 1.36 + bob), 0.13, shirt);
  capsule(at(0, 0, 1.45 + bob), at(0, 0, 1.55 + bob), 0.05, skin);
  const c = Math.cos(look), s = Math.sin(look), ahead = (distance, up) => at(distance * c, distance * s, up + bob);
  capsule(ahead(0.01, 1.58), ahead(0.015, 1.64), 0.1, skin);
  capsule(ahead(-0.025, 1.64), ahead(-0.015, 1.68), 0.102, hair);
  capsule(ahead(0.1, 1.6), ahead(0.115, 1.59), 0.022, skin);
};
