// The moving dots: requests on their way, drawn on a canvas over the picture.
// Positions come from the elements themselves, so the layout decides where
// everything flies. Without dots in flight nothing is drawn and no frame asked.

const maxDots = 400;

export class Dots {
  #canvas; #box; #ink; #dots = []; #running = false; #still; #colours = {};

  constructor(canvas, box) {
    this.#canvas = canvas;
    this.#box = box;
    this.#ink = canvas.getContext("2d");
    this.#still = matchMedia("(prefers-reduced-motion: reduce)");
    new ResizeObserver(() => this.#fit()).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#readColours());
    this.#readColours();
    this.#fit();
  }

  get still() { return this.#still.matches; }

  // fly sends a dot of a kind along elements, after a delay in milliseconds, and
  // calls arrived at its end.
  fly(kind, stops, { delay = 0, leg = 260, arrived } = {}) {
    if (this.still || document.hidden || this.#dots.length >= maxDots) {
      arrived?.();
      return;
    }
    const points = stops.map((stop) => this.#point(stop));
    this.#dots.push({ kind, points, start: performance.now() + delay, leg, arrived });
    this.#run();
  }

  // burst throws sparks from an element: a worker has died.
  burst(element) {
    if (this.still || document.hidden) return;
    const at = this.#point(element);
    const now = performance.now();
    for (let i = 0; i < 14 && this.#dots.length < maxDots; i++) {
      const angle = (i / 14) * 2 * Math.PI, far = 26 + 22 * Math.random();
      const to = { x: at.x + far * Math.cos(angle), y: at.y + far * Math.sin(angle) };
      this.#dots.push({ kind: "spark", points: [at, to], start: now, leg: 420 });
    }
    this.#run();
  }

  #point(element) {
    const outer = this.#box.getBoundingClientRect(), r = element.getBoundingClientRect();
    // A little off the middle, so that dots do not hide one another.
    const wide = Math.min(18, r.width / 4), high = Math.min(12, r.height / 4);
    return {
      x: r.left - outer.left + r.width / 2 + wide * (Math.random() - 0.5) * 2,
      y: r.top - outer.top + r.height / 2 + high * (Math.random() - 0.5) * 2,
    };
  }

  #fit() {
    const scale = Math.min(2, window.devicePixelRatio || 1);
    const { width, height } = this.#box.getBoundingClientRect();
    this.#canvas.width = Math.round(width * scale);
    this.#canvas.height = Math.round(height * scale);
    this.#ink.setTransform(scale, 0, 0, scale, 0, 0);
  }

  #readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["good", "pill", "bad", "lane"]) {
      this.#colours[name] = style.getPropertyValue(`--${name}`).trim();
    }
  }

  #run() {
    if (this.#running) return;
    this.#running = true;
    requestAnimationFrame((now) => this.#frame(now));
  }

  #frame(now) {
    this.#ink.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    const landed = [];
    this.#dots = this.#dots.filter((dot) => {
      const legs = dot.points.length - 1, way = (now - dot.start) / dot.leg;
      if (way >= legs) {
        if (dot.arrived) landed.push(dot.arrived);
        return false;
      }
      if (way >= 0) this.#draw(dot, Math.floor(way), way % 1);
      return true;
    });
    for (const arrived of landed) arrived();
    if (this.#dots.length > 0) requestAnimationFrame((next) => this.#frame(next));
    else this.#running = false;
  }

  #draw(dot, leg, way) {
    const from = dot.points[leg], to = dot.points[leg + 1];
    const ease = dot.kind === "spark" ? 1 - (1 - way) ** 2 : way * way * (3 - 2 * way);
    const bend = dot.kind === "spark" ? 0 : Math.sin(Math.PI * way) * 10 * (leg % 2 ? 1 : -1);
    const x = from.x + (to.x - from.x) * ease, y = from.y + (to.y - from.y) * ease + bend;
    const ink = this.#ink;
    ink.globalAlpha = dot.kind === "spark" ? 1 - way : leg === dot.points.length - 2 && way > 0.85 ? (1 - way) / 0.15 : 1;
    ink.beginPath();
    switch (dot.kind) {
      case "pill":
        ink.fillStyle = this.#colours.pill;
        ink.moveTo(x, y - 7); ink.lineTo(x + 7, y); ink.lineTo(x, y + 7); ink.lineTo(x - 7, y);
        ink.fill();
        break;
      case "spark":
        ink.fillStyle = this.#colours.bad;
        ink.arc(x, y, 2.6 * (1 - way) + 0.6, 0, 2 * Math.PI);
        ink.fill();
        break;
      default:
        ink.fillStyle = dot.kind === "lane" ? this.#colours.lane : this.#colours.good;
        ink.arc(x, y, 3.4, 0, 2 * Math.PI);
        ink.fill();
    }
    ink.globalAlpha = 1;
  }
}
