// Time: what is shown, and how it moves. A position is a number of events; while it plays, time runs between them.

const RATES = [0.25, 0.5, 1, 2, 4, 8, 16];

export class Player {
  // `onMove()` is called whenever something else is to be shown.
  constructor(onMove) {
    this.onMove = onMove;
    this.rate = 1;
    this.count = 0;
    this.time = 0;
    this.isPlaying = false;
    this.frames = [];
  }

  show(model, count = 0) {
    this.pause();
    this.model = model;
    // A long run is shown faster, so that it ends before the lecture does.
    this.scale = Math.max(1, model.end / 45);
    this.go(count);
  }

  go(count) {
    this.count = Math.max(0, Math.min(this.model.length, count));
    this.time = this.model.timeOf(this.count);
    this.onMove();
  }

  // To a position, and stay there.
  jump(count) {
    this.pause();
    this.go(count);
  }

  step(by) {
    this.pause();
    this.go(this.count + by);
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  play() {
    if (this.count >= this.model.length) this.go(0);
    this.isPlaying = true;
    this.before = null;
    this.frames = [];
    this.request = requestAnimationFrame((now) => this.frame(now));
    this.onMove();
  }

  pause() {
    if (!this.isPlaying) return;
    this.isPlaying = false;
    cancelAnimationFrame(this.request);
    this.onMove();
  }

  faster(by) {
    const at = RATES.indexOf(this.rate) + by;
    this.rate = RATES[Math.max(0, Math.min(RATES.length - 1, at))];
    this.onMove();
  }

  frame(now) {
    if (!this.isPlaying) return;
    const passed = this.before == null ? 0 : Math.min(100, now - this.before) / 1000;
    if (this.before != null) this.frames.push(now - this.before);
    this.before = now;
    this.time += passed * this.rate * this.scale;
    this.count = this.model.countAt(this.time);
    if (this.time >= this.model.end) {
      this.go(this.model.length);
      this.pause();
      return;
    }
    this.onMove();
    this.request = requestAnimationFrame((next) => this.frame(next));
  }

  // Frames per second of the last play, for measurements.
  get fps() {
    const sum = this.frames.reduce((one, other) => one + other, 0);
    return sum ? (1000 * this.frames.length) / sum : 0;
  }
}
