// The page: one row, what the model says about it, and when the sections are drawn again.

class App {
  static SETTLED_MS = 80; // without a change before bounds and curves are computed again

  constructor(payload) {
    this.payload = payload;
    this.model = new Model(payload);
    this.bounds = new Bounds(this.model);
    this.words = new Words(payload, this.model);
    this.row = this.model.typicalRow();
    this.chosen = { output: payload.about.quantile_levels.length ? this.model.outputs.length >> 1 : 0 };
    this.lastUpdateMs = this.lastDrawMs = this.lastSearchMs = null;
    Dom.byId("about").textContent = this.words.header();
    Dom.byId("footer").textContent = this.words.footer();
    this.scores = this.model.scores(this.row);
    this.sections = Section.all.map((kind) => Section.open(kind, this));
    this.listen();
    this.update();
  }

  output() {
    return this.model.outputs[this.chosen.output];
  }

  strongest() {
    const strengths = this.model.columns.map((column) => column.strength);
    return strengths.indexOf(Math.max(...strengths));
  }

  listen() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
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
    this.scores = this.model.scores(this.row);
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
  }

  // ---- paper: every chart, in dark ink and as wide as a page; and back ------------------------------------------

  forPaper() {
    document.documentElement.dataset.paper = "";
    this.redraw();
    this.all("paper");
  }

  forScreen() {
    delete document.documentElement.dataset.paper;
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
