// The page: one row, what the model says about it, and when the sections are drawn again.

class App {
  static SETTLED_MS = 80; // without a change before bounds and curves are computed again

  constructor(payload) {
    this.payload = payload;
    this.model = new Model(payload);
    this.bounds = new Bounds(this.model);
    this.words = new Words(payload, this.model);
    this.typical = this.typicalRow();
    this.row = this.typical.slice();
    this.chosen = { output: this.model.outputs.length >> 1, follows: payload.about.classes.length > 2 };
    this.lastUpdateMs = this.lastDrawMs = this.lastSearchMs = null;
    this.score();
    Svg.listen();
    this.sections = Section.all.map((kind) => Section.open(kind, this));
    this.listen();
    this.update();
    this.all("resize");
  }

  // A real row of the data if there are any: the one that is the least far from all others.
  typicalRow() {
    const { data } = this.payload;
    return data && data.typical !== null ? data.examples[data.typical].cells.slice() : this.model.baselineRow();
  }

  // Raw scores of the row; what is explained is the most likely class until a reader chooses another.
  score() {
    this.scores = this.model.scores(this.row);
    if (this.chosen.follows) this.chosen.output = Math.min(this.model.decided(this.scores), this.model.outputs.length - 1);
  }

  output() {
    return this.model.outputs[this.chosen.output];
  }

  listen() {
    addEventListener("resize", () => { this.resized ??= requestAnimationFrame(() => { this.resized = null; this.redraw(); }); });
    addEventListener("beforeprint", () => this.forPaper());
    addEventListener("afterprint", () => this.forScreen());
  }

  set(row) {
    row.forEach((cell, i) => { this.row[i] = cell; });
    this.all("reset");
    this.update();
  }

  all(step) {
    for (const section of this.sections) section[step]();
  }

  // ---- updates: the numbers at once, the charts in the next frame, bounds and curves when the row has settled ----

  update() {
    const began = performance.now();
    this.score();
    this.all("update");
    this.lastUpdateMs = performance.now() - began;
    this.waiting ??= requestAnimationFrame(() => { this.waiting = null; this.draw(); });
    this.settle();
  }

  draw() {
    const began = performance.now();
    this.all("draw");
    this.lastDrawMs = performance.now() - began;
  }

  settle() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settleNow(), App.SETTLED_MS);
  }

  settleNow() {
    clearTimeout(this.timer);
    this.all("settle");
  }

  redraw() {
    this.draw();
    this.settleNow();
    this.all("resize");
  }

  // ---- paper: every chart, as wide as a page, and what is folded; and back - ------------------------------------------

  forPaper() {
    document.documentElement.dataset.paper = "";
    this.folded = [...document.querySelectorAll("details:not([open]):not(.screen)")];
    for (const details of this.folded) details.open = true;
    this.redraw();
    this.all("paper");
  }

  forScreen() {
    delete document.documentElement.dataset.paper;
    for (const details of this.folded ?? []) details.open = false;
    this.redraw();
  }
}

const app = new App(PAYLOAD);

window.lambdak = {
  set: (row) => app.set(row),
  row: () => app.row.slice(),
  predict: () => ({ scores: app.scores.slice(), predictions: app.model.predictions(app.scores) }),
  whatIf: (output, column, from, to) => app.bounds.whatIf(app.model.outputs[output], app.row, column, from, to),
  get lastUpdateMs() { return app.lastUpdateMs; },
  get lastDrawMs() { return app.lastDrawMs; },
  get lastSearchMs() { return app.lastSearchMs; },
};
