// The page: one row, what the model says about it, and who draws what when it changes.

class App {
  static MOST_BARS = 15;
  static SETTLED_MS = 80; // without a change before bounds and curves are computed again

  constructor(payload) {
    this.payload = payload;
    this.model = new Model(payload);
    this.bounds = new Bounds(this.model);
    this.row = this.model.typicalRow();
    this.chosen = { output: this.model.outputs.length >> 1, column: 0, from: null, to: null };
    this.chosen.output = payload.about.levels.length ? this.chosen.output : 0;
    this.chosen.column = this.strongest();
    this.sameScale = false;
    this.lastUpdateMs = this.lastDrawMs = null;
    Tables.about(payload, this.model);
    Tables.certificate(payload.certificate);
    Tables.data(payload);
    Tables.glossary();
    this.controls = new Controls(this.model, this.row, { changed: () => this.update(), focused: (i) => this.chooseColumn(i) });
    this.words = new Words(payload, this.model);
    this.effects = new Effects(this.model, this.bounds, this);
    this.matrices = new Matrices(payload, this.model, this);
    this.selectors();
    this.listen();
    this.chooseColumn(this.chosen.column);
    this.update();
  }

  output() {
    return this.model.outputs[this.chosen.output];
  }

  strongest() {
    const strengths = this.model.columns.map((column) => column.strength);
    return strengths.indexOf(Math.max(...strengths));
  }

  // ---- selectors ----------------------------------------------------------------------------------------------

  selectors() {
    const { columns, outputs, weights } = this.model;
    const examples = this.payload.data ? this.payload.data.examples : [];
    this.options("example", ["a typical row", ...examples.map((example) => this.words.example(example))], 0);
    this.options("output", outputs.map(({ name }) => name), this.chosen.output);
    this.options("whatif-column", columns.map(({ name }) => name), this.chosen.column);
    this.options("member", weights.map((_, m) => `${m + 1} of ${weights.length}`), 0);
    Dom.byId("output-field").hidden = outputs.length < 2;
    Dom.byId("outputs-card").hidden = outputs.length < 2 && !this.payload.about.classes.length;
    Dom.byId("member-field").hidden = weights.length < 2;
    Dom.byId("all-field").hidden = columns.length <= App.MOST_BARS;
  }

  options(id, texts, chosen) {
    const make = (text, value) => Dom.make("option", { value, title: text }, Dom.short(text, 50));
    Dom.fill(Dom.byId(id), ...texts.map(make));
    Dom.byId(id).value = String(chosen);
  }

  listen() {
    const on = (id, kind, action) => Dom.byId(id).addEventListener(kind, (event) => action(event.target));
    on("example", "change", ({ value }) => this.startFrom(Number(value)));
    on("output", "change", ({ value }) => { this.chosen.output = Number(value); this.update(); });
    on("whatif-column", "change", ({ value }) => this.chooseColumn(Number(value)));
    on("from", "input", () => this.readRange());
    on("to", "input", () => this.readRange());
    on("member", "change", () => this.draw());
    on("all", "change", () => this.draw());
    on("slopes", "toggle", () => this.draw());
    on("same-scale", "change", ({ checked }) => { this.sameScale = checked; this.effects.changed(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    addEventListener("resize", () => { this.resized ??= requestAnimationFrame(() => { this.resized = null; this.redraw(); }); });
    addEventListener("beforeprint", () => this.forPaper());
    addEventListener("afterprint", () => this.forScreen());
  }

  startFrom(place) {
    const row = place ? this.payload.data.examples[place - 1].cells : this.model.typicalRow();
    this.set(row);
  }

  set(row) {
    row.forEach((cell, i) => { this.row[i] = cell; });
    this.controls.show();
    this.update();
  }

  chooseColumn(i) {
    const { kind, low, high } = this.model.columns[i];
    const category = kind === "category";
    if (i !== this.chosen.column || this.chosen.from === null) Object.assign(this.chosen, { column: i, from: low, to: high });
    Dom.byId("whatif-column").value = String(i);
    Dom.byId("from").value = category ? "" : this.chosen.from;
    Dom.byId("to").value = category ? "" : this.chosen.to;
    Dom.byId("from-field").hidden = Dom.byId("to-field").hidden = category;
    this.controls.choose(i);
    this.settle();
  }

  readRange() {
    const [from, to] = ["from", "to"].map((id) => Dom.byId(id).valueAsNumber);
    if (Number.isNaN(from) || Number.isNaN(to)) return;
    Object.assign(this.chosen, { from: Math.min(from, to), to: Math.max(from, to) });
    this.settle();
  }

  // ---- updates: the numbers at once, the charts in the next frame, bounds and curves when the row has settled ----

  update() {
    const began = performance.now();
    this.scores = this.model.scores(this.row);
    this.words.prediction(this.scores);
    Dom.byId("effects-note").textContent = this.words.effects(this.chosen.output);
    this.lastUpdateMs = performance.now() - began;
    this.waiting ??= requestAnimationFrame(() => { this.waiting = null; this.draw(); });
    this.settle();
  }

  settle() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settleNow(), App.SETTLED_MS);
  }

  settleNow() {
    clearTimeout(this.timer);
    const { column, from, to, output } = this.chosen;
    const range = this.bounds.seen(this.model.outputs, this.row, column, from, to, output);
    Dom.byId("whatif-text").textContent = this.words.whatIf(this.model.columns[column], this.chosen, range);
    this.effects.changed();
    this.matrices.draw();
  }

  draw() {
    const began = performance.now();
    const output = this.output();
    const point = this.bounds.point(output, this.row);
    this.drawInfluences(this.bounds.influences(output, this.row, point));
    this.words.outputs(this.scores);
    const member = Number(Dom.byId("member").value);
    Charts.spectrum(Dom.byId("spectrum-chart"), point[member].values, output.index);
    Dom.byId("influence-note").textContent = this.words.influences(point);
    Dom.byId("gap").textContent = this.words.gap(point[member], output);
    this.lastDrawMs = performance.now() - began;
  }

  drawInfluences(found) {
    const order = [...found.keys()].sort((i, j) => Math.abs(found[j].change) - Math.abs(found[i].change));
    const shown = Dom.byId("all").checked ? order : order.slice(0, App.MOST_BARS);
    const names = shown.map((i) => this.model.columns[i].name);
    const texts = shown.map((i) => this.words.influence(found[i]));
    Charts.bars(Dom.byId("influence-chart"), names, shown.map((i) => found[i].change), texts, `change of the ${this.words.unit()}`);
    if (Dom.byId("slopes").open) Tables.slopes(names, shown.map((i) => found[i]));
  }

  // ---- paper --------------------------------------------------------------------------------------------------

  // Every chart, in dark ink and as wide as a page; and back.
  forPaper() {
    document.documentElement.dataset.paper = "";
    this.draw();
    this.settleNow();
    this.effects.drawAll();
  }

  forScreen() {
    delete document.documentElement.dataset.paper;
    this.redraw();
  }

  redraw() {
    this.draw();
    this.effects.changed();
    this.matrices.draw();
  }
}

const app = new App(JSON.parse(Dom.byId("payload").textContent));

window.lambdak = {
  set: (row) => app.set(row),
  row: () => app.row.slice(),
  predict: () => ({ scores: app.scores.slice(), predictions: app.model.predictions(app.scores) }),
  whatIf: (output, column, from, to) => app.bounds.whatIf(app.model.outputs[output], app.row, column, from, to),
  get lastUpdateMs() { return app.lastUpdateMs; },
  get lastDrawMs() { return app.lastDrawMs; },
};
