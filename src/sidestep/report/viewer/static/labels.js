// Words over the picture: what people do with their hands, and what has just happened to the robot.

const GESTURE_WORDS = { talk: "talks", queue: "queues", look_around: "looks about", wave: "waves", stop: "stop!", go_on: "go on", phone: "phone" };
const EVENT_WORDS = { off_route: "off the route", group_intrusion: "through a group", reset: "put back", stopped: "stops as asked", disobeyed: "did not stop", lane_invasion: "out of lane too often", lane_crossing: "out of lane", wrong_exit: "wrong exit", frozen: "stands still" };
const WORD_S = 1.6; // how long the label of an event is shown
const HEAD_M = 1.95; // above the ground

// What is to be said at a moment: [{at: [x, y, z], text, kind}].
const wordsAt = (episode, f, poses) => {
  const words = [], together = new Map();
  for (const [i, name] of episode.gesturesAt(f.time)) {
    if (!poses[i]) continue;
    const group = episode.groupAt(i, f.time), key = group < 0 ? `one ${i}` : `${name} ${group}`; // a group that talks says so once
    together.set(key, { name, members: [...(together.get(key)?.members ?? []), poses[i]] });
  }
  for (const { name, members } of together.values()) {
    const [x, y] = [0, 1].map((k) => members.reduce((sum, p) => sum + p[k], 0) / members.length);
    words.push({ at: [x, y, HEAD_M], text: GESTURE_WORDS[name] ?? name, kind: name });
  }
  const recent = episode.events.filter((e) => e.kind in EVENT_WORDS && e.time <= f.time + 1e-6 && f.time < e.time + WORD_S);
  const robot = episode.robotAt(f);
  if (recent.length) words.push({ at: [robot[0], robot[1], episode.height + 0.35], text: EVENT_WORDS[recent.at(-1).kind], kind: EVENT_COLOUR(recent.at(-1).kind) });
  return words;
};

class Labels {
  constructor(element) { this.element = element; this.spans = []; }

  // `project`: a point in the world → [x, y] in CSS pixels of the picture, null behind the camera.
  show(words, project) {
    const { element, spans } = this, { clientWidth: width, clientHeight: height } = element;
    while (spans.length < words.length) { const span = document.createElement("span"); spans.push(span); element.append(span); }
    spans.forEach((span, k) => {
      const word = words[k], place = word && project(word.at);
      span.hidden = !place || place[0] < 0 || place[1] < 0 || place[0] > width || place[1] > height;
      if (span.hidden) return;
      if (span.textContent !== word.text) span.textContent = word.text;
      span.className = word.kind;
      span.style.transform = `translate(-50%, -100%) translate(${place[0].toFixed(1)}px, ${place[1].toFixed(1)}px)`;
    });
  }
}
