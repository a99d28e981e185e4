// A plot of the last ten minutes. A point is the mean of the time since the one before.
const width = 600, height = 100, shownFor = 600e3;

// ceiling returns the least round number that is not below n.
function ceiling(n) {
  let step = 1;
  for (;;) {
    for (const times of [1, 2, 3, 4, 5, 6, 8]) if (times * step >= n) return times * step;
    step *= 10;
  }
}

class Plot {
  // layers are {name, low, high, line}: the class of a path, and the functions of a
  // point that say from where to where it is filled.
  constructor(figure, layers, describe) {
    this.layers = layers;
    this.describe = describe;
    this.svg = figure.querySelector("svg");
    this.paths = layers.map((l) => this.svg.querySelector("." + l.name));
    this.cursor = this.svg.querySelector(".cursor");
    this.desc = this.svg.querySelector("desc");
    this.ys = figure.querySelectorAll(".y span");
    this.readout = figure.querySelector(".readout");
    this.points = [];
    this.at = 0;
    this.svg.addEventListener("pointermove", (e) => this.point(e));
    this.svg.addEventListener("pointerleave", () => this.pointed(null));
  }

  x(ms) { return Math.max(0, width + (ms - this.at) * width / shownFor); }

  draw(points, at) {
    this.points = points;
    this.at = at;
    const top = ceiling(Math.max(1, ...points.map((p) => Math.max(...this.layers.map((l) => l.high(p))))));
    const y = (n) => (height * (1 - n / top)).toFixed(2);
    this.layers.forEach((l, i) => this.paths[i].setAttribute("d", this.path(l, y)));
    setText(this.ys[0], rate(top));
    setText(this.ys[1], rate(top / 2));
    setText(this.desc, this.summary());
    if (!this.held) this.pointed(null);
  }

  // path returns steps along the upper edge, and for what is filled back along the lower.
  path(layer, y) {
    if (this.points.length === 0) return "";
    let up = "", down = "", begin = null;
    this.points.forEach((p, i) => {
      const from = this.x(i ? this.points[i - 1][0] : p[0] - 1000).toFixed(1), to = this.x(p[0]).toFixed(1);
      if (begin === null) begin = from;
      const high = y(layer.high(p));
      up += (i ? "V" + high : "M" + from + " " + high) + "H" + to;
      down = "H" + to + "V" + y(layer.low(p)) + "H" + from + down;
    });
    return layer.line ? up : up + down + "Z";
  }

  summary() {
    if (this.points.length === 0) return "No data yet.";
    return "Now: " + this.describe(this.points[this.points.length - 1]) + ". Most in ten minutes: " +
      rate(Math.max(...this.points.map((p) => this.layers[this.layers.length - 1].high(p)))) + ".";
  }

  point(e) {
    const box = this.svg.getBoundingClientRect();
    const ms = this.at - shownFor * (1 - (e.clientX - box.left) / box.width);
    this.pointed(this.points.find((p) => p[0] >= ms) || null);
  }

  // pointed shows a point under the pointer, or the last one.
  pointed(p) {
    this.held = p;
    this.cursor.setAttribute("d", p ? "M" + this.x(p[0]).toFixed(1) + " 0V" + height : "");
    p = p || this.points[this.points.length - 1];
    setText(this.readout, p ? clock(p[0], p[0]) + ": " + this.describe(p) : "\u00a0");
  }
}
