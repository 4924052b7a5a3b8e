// Two models side by side: one row, both predictions, and the effects of both in the same pictures. Columns are those of
// both models, the first model's first; a level is known by its text.

class Side {
  constructor(payload, name, columns) {
    this.name = name;
    this.model = new Model(payload);
    this.words = new Words(payload, this.model);
    this.places = this.model.columns.map((own) => columns.findIndex((column) => column.name === own.name));
    this.columns = columns;
  }

  // The row as this model reads it.
  row(cells) {
    return this.model.columns.map((own, i) => {
      const column = this.columns[this.places[i]], cell = cells[this.places[i]];
      return own.kind === "category" ? (cell < 0 ? -1 : own.levels.indexOf(column.levels[cell])) : cell;
    });
  }

  // What is predicted along one of the columns: of several classes the probability of one. Null if it does not read it.
  along(cells, place, values, output) {
    const i = this.places.indexOf(place);
    if (i < 0) return null;
    const own = values.map((value) => { const row = cells.slice(); row[place] = value; return this.row(row)[i]; });
    const joint = this.model.link === "softmax", needed = joint ? this.model.outputs : [this.model.outputs[output]];
    const scores = needed.map((one) => this.model.along(one, this.row(cells), i, own));
    return own.map((_, n) => (joint ? this.words.seenOf(scores.map((some) => some[n]), output) : this.model.single(scores[0][n])));
  }
}

class Comparison {
  static SETTLED_MS = 80;

  constructor({ names, models, order }) {
    this.columns = this.merged(models);
    this.model = { columns: this.columns };
    this.sides = models.map((payload, s) => new Side(payload, names[s], this.columns));
    const [{ words }] = this.sides, { data } = models[0];
    const full = (cells) => this.columns.map((column, i) => (i < cells.length ? cells[i] : column.kind === "category" ? -1 : column.median));
    const examples = (data ? data.examples : []).map((own) => ({ ...own, cells: full(own.cells) }));
    this.payload = { data: data && { ...data, examples } };
    this.words = words;
    this.typical = data && data.typical !== null ? examples[data.typical].cells.slice() : full([]);
    this.row = this.typical.slice();
    Svg.listen();
    this.fill(order);
    addEventListener("resize", () => this.update());
    addEventListener("beforeprint", () => { document.documentElement.dataset.paper = ""; this.draw(); });
    addEventListener("afterprint", () => { delete document.documentElement.dataset.paper; this.draw(); });
    this.update();
  }

  merged(models) {
    const found = new Map();
    for (const own of models.flatMap(({ columns }) => columns)) {
      const before = found.get(own.name);
      if (!before) found.set(own.name, { ...own, levels: [...own.levels] });
      else if (own.kind === "category") before.levels.push(...own.levels.filter((level) => !before.levels.includes(level)));
      else Object.assign(before, { low: Math.min(before.low, own.low), high: Math.max(before.high, own.high) });
    }
    return [...found.values()];
  }

  fill(order) {
    const { classes } = this.words.about, cards = this.sides.map(({ name }, s) => Dom.make("div", { class: "card" },
      Dom.make("h3", { class: `key k${s}` }, name), Dom.make("output", { class: "big", id: s ? "prediction-1" : "prediction", "aria-live": "polite" }), Dom.make("div", { class: "chart", id: `outputs-${s}` })));
    Dom.fill(Dom.byId("both"), ...cards);
    const all = [...order, ...this.columns.keys()].filter((i, n, some) => some.indexOf(i) === n);
    this.controls = new Controls(this.model, all, this.row, { changed: () => this.update(), focused: () => {} });
    this.rows = new Rows(this);
    const choices = classes.length > 2 || !classes.length ? this.sides[0].model.outputs.map((_, i) => this.words.output(i)) : [this.words.output(0)];
    Dom.options("output", choices, choices.length >> 1);
    Dom.byId("output-field").hidden = choices.length < 2;
    Dom.byId("output").addEventListener("change", () => this.update());
    this.cards = order.slice(0, CONSTANTS.most_columns).map((place) => [place, Dom.make("div", { class: "chart" })]);
    Dom.fill(Dom.byId("effect-charts"), ...this.cards.map(([place, chart]) => Dom.make("div", { class: "card effect" }, Dom.make("h3", {}, this.columns[place].name), chart)));
  }

  set(row) {
    row.forEach((cell, i) => { this.row[i] = cell; });
    this.controls.show();
    this.update();
  }

  update() {
    this.sides.forEach((side, s) => this.show(side, s));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), Comparison.SETTLED_MS);
  }

  show({ model, words, row }, s) {
    const side = this.sides[s], scores = model.scores(side.row(this.row)), { classes } = words.about;
    Dom.byId(s ? "prediction-1" : "prediction").textContent = words.headline(scores);
    if (!classes.length) return;
    const chances = model.chances(scores);
    Charts.bars(Dom.byId(`outputs-${s}`), classes, chances, chances.map(Dom.percent), "Probability of each class", { range: [0, 1] });
  }

  draw() {
    const output = Number(Dom.byId("output").value), format = (x) => this.words.shown(x);
    for (const [place, chart] of this.cards) {
      const { kind, levels, name, axis } = this.columns[place], n = CONSTANTS.curve_nodes, category = kind === "category";
      const scale = category ? null : new NumberScale(axis), values = category ? [...levels.keys()] : scale.even(n + 1);
      const lines = this.sides.map((side) => ({ name: side.name, y: side.along(this.row, place, values, output) })).filter(({ y }) => y);
      Plots.both(chart, { name, values, texts: category ? levels : null, lines, format, scale });
    }
  }
}

const comparison = new Comparison(PAYLOAD);

window.lambdak = {
  set: (row) => comparison.set(row),
  row: () => comparison.row.slice(),
  predict: () => comparison.sides.map((side) => side.model.scores(side.row(comparison.row))),
};
