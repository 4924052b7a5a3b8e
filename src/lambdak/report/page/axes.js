// A field with two axes, in which curves and points are drawn.

class Field {
  // `x` and `y`: {range, title, count of ticks, texts: [[number, text], …] in place of round numbers}; `x` may have the
  // NumberScale of its column.
  constructor(element, { height = 210, label, drawn, x, y, bottom = 0 }) {
    Object.assign(this, Svg.picture(element, height, label, drawn));
    const below = (x.title ? 38 : 22) + (x.tilted ? 26 : 0), texts = this.texts(y);
    const left = Math.min(Math.max(...texts.map(([, words]) => Svg.long(words)), 14) + 8, 0.4 * this.width) + (y.title ? 16 : 0);
    this.box = { left, right: this.width - 10, top: 8, bottom: height - below };
    this.x = x.scale ? (v) => left + (this.box.right - left) * x.scale.place(v) : Svg.scale(x.range, [left, this.box.right]);
    this.y = Svg.scale(y.range, [this.box.bottom - bottom, this.box.top]);
    this.ranges = { x: x.range, y: y.range };
    if (x.scale) this.compressed(x.scale);
    this.horizontal(x);
    this.vertical(y, texts);
    this.inside = Svg.make("g", { "clip-path": `url(#${this.clip()})` });
    this.svg.append(this.inside);
  }

  // The ends of an axis that are not to scale.
  compressed({ low, first, last, high }) {
    const { top, bottom } = this.box;
    for (const [from, to] of [[low, first], [last, high]]) {
      if (from < to) this.svg.append(Svg.make("rect", { class: "compressed", x: this.x(from), y: top, width: this.x(to) - this.x(from), height: bottom - top }));
    }
  }

  // What is drawn stays within the field.
  clip() {
    const id = `clip-${(Field.count = (Field.count ?? 0) + 1)}`, { left, right, top, bottom } = this.box;
    const inside = { x: left - 6, y: top - 6, width: right - left + 12, height: bottom - top + 6 };
    this.svg.append(Svg.make("clipPath", { id }, Svg.make("rect", inside)));
    return id;
  }

  texts({ range: [low, high], count = 5, texts = null, scale = null, whole = false, format = (t) => Dom.number(t, 6) }) {
    return texts ?? (scale ? scale.ticks(Math.max(count - 2, 2)) : Svg.ticks(low, high, count)).filter((t) => !whole || Number.isInteger(t)).map((t) => [t, format(t)]);
  }

  horizontal(x) {
    const { left, right, bottom } = this.box, few = Math.max(2, Math.floor((right - left) / 70));
    let last = -Infinity;
    for (const [at, words] of this.texts({ count: few, ...x })) {
      const place = this.x(at), half = x.tilted ? 8 : Svg.long(words) / 2;
      if (place - half < last + 4 || place < left - 1 || place > right + 1) continue;
      last = place + half;
      const turned = x.tilted ? { "text-anchor": "end", transform: `rotate(-30 ${place} ${bottom + 14})` } : { "text-anchor": "middle" };
      this.svg.append(Svg.make("line", { class: "tick", x1: place, x2: place, y1: bottom, y2: bottom + 4 }));
      this.svg.append(Svg.text(words, x.tilted ? place : Math.min(place, this.width - half - 4), bottom + 16, { class: "axis", ...turned }));
    }
    if (x.title) this.svg.append(Svg.text(x.title, (left + right) / 2, this.height - 4, { class: "axis", "text-anchor": "middle" }));
  }

  vertical(y, texts) {
    const { left, right, top, bottom } = this.box;
    for (const [at, words] of texts) {
      const place = this.y(at);
      if (place < top - 1 || place > bottom + 1) continue;
      this.svg.append(Svg.make("line", { class: "gridline", x1: left, x2: right, y1: place, y2: place }));
      this.svg.append(Svg.text(words, left - 5, place + 4, { class: "axis", "text-anchor": "end" }));
    }
    this.svg.append(Svg.make("line", { class: "base", x1: left, x2: right, y1: bottom, y2: bottom }));
    const middle = (top + bottom) / 2;
    if (y.title) this.svg.append(Svg.text(y.title, 11, middle, { class: "axis", "text-anchor": "middle", transform: `rotate(-90 11 ${middle})` }));
  }

  add(tag, attributes, ...children) {
    const element = Svg.make(tag, attributes, ...children);
    this.inside.append(element);
    return element;
  }

  path(xs, ys) {
    return xs.map((x, i) => `${i ? "L" : "M"}${this.x(x).toFixed(1)} ${this.y(ys[i]).toFixed(1)}`).join("");
  }

  line(xs, ys, attributes = {}) {
    this.add("path", { class: "line", d: this.path(xs, ys), ...attributes });
  }

  area(xs, low, high) {
    const back = this.path([...xs].reverse(), [...low].reverse()).replace("M", "L");
    this.add("path", { class: "band", d: `${this.path(xs, high)}${back}Z` });
  }

  dot(x, y, attributes = {}) {
    this.add("circle", { class: "point", cx: this.x(x), cy: this.y(y), r: 4, ...attributes });
  }

  // Strips over the whole height that say what is there.
  strips(xs, words) {
    const { left, right, top, bottom } = this.box, places = xs.map((x) => this.x(x));
    places.forEach((place, i) => {
      const from = i ? (places[i - 1] + place) / 2 : left, to = i + 1 < places.length ? (place + places[i + 1]) / 2 : right;
      if (to > from) this.add("rect", { class: "hit", x: from, y: top, width: to - from, height: bottom - top, "data-tip": words(i) });
    });
  }

  // How many rows of the data lie where, at the bottom: thin regions show.
  rug(bins, edges, height = 24) {
    const most = Math.max(...bins, 1), { bottom } = this.box;
    bins.forEach((count, i) => {
      const from = this.x(edges[i]), to = this.x(edges[i + 1]), tall = count ? Math.max((height * count) / most, 1) : 0;
      this.add("rect", { class: "rug", x: from + 0.5, y: bottom - tall, width: Math.max(to - from - 1, 0.5), height: tall });
    });
  }
}
