// How well the model does, in the charts that belong to its task.

class PerformanceSection extends Section {
  static id = "performance";
  static link = "Performance";
  static markup = `
    <label class="field screen" id="measured-field">Class <select id="measured"></select></label>
    <div class="grid wide" id="performance-charts"></div>
    <details id="more-performance"><summary>More charts</summary><div class="grid wide" id="more-performance-charts"></div></details>`;

  constructor(app, body) {
    super(app, body);
    this.found = app.payload.performance;
    Dom.byId("measured-field").hidden = Dom.byId("more-performance").hidden = true;
    if (!this.found) return;
    const { outputs } = this.found;
    this.cards = this.pictures().map(([title, draw, words]) => this.card(title, draw, words));
    const elements = this.cards.map(({ element }) => element), few = Dom.narrow() ? 1 : elements.length;
    Dom.fill(Dom.byId("performance-charts"), ...elements.slice(0, few));
    Dom.fill(Dom.byId("more-performance-charts"), ...elements.slice(few));
    Dom.byId("more-performance").hidden = elements.length <= few;
    Dom.byId("more-performance").addEventListener("toggle", () => this.resize());
    Dom.options("measured", outputs.map(({ name }) => name));
    Dom.byId("measured-field").hidden = outputs.length < 2 || outputs[0].task !== "class";
    Dom.byId("measured").addEventListener("change", () => this.resize());
  }

  // A picture, and how to read it.
  card(title, draw, words) {
    const chart = Dom.make("div", { class: "chart" }), note = Dom.make("p", { class: "note" }, words);
    return { element: Dom.make("div", { class: "card" }, Dom.make("h3", {}, title), note, chart), chart, draw };
  }

  resize() {
    for (const { chart, draw } of this.cards ?? []) draw(chart);
  }

  output() {
    return this.found.outputs[Number(Dom.byId("measured").value) || 0];
  }

  // Titles, and functions that draw.
  pictures() {
    const { outputs, medians } = this.found, [first] = outputs;
    if (first.task === "class") return this.ofClasses();
    if (first.task === "coverage") return [["How often each quantile holds", (chart) => this.coverage(chart), "On the dashed line, as many targets are below as is wanted."], ...this.ofPoints(medians, "Middle quantile")];
    const means = ["Means of tenths of the rows, by prediction", (chart) => this.bins(chart, "Mean prediction", `Observed: ${first.about}`), "On the dashed line, predictions are right on average. Lines: 95 % intervals."];
    return first.points ? [...this.ofPoints(first.points, "Predicted"), means] : [means, ["Residuals of tenths: observed minus predicted", (chart) => this.residuals(chart), "The nearer to zero, the better."]];
  }

  ofClasses() {
    const curves = this.found.outputs.filter(({ roc }) => roc);
    const roc = ["ROC curve: share found against false alarms", (chart) => Plots.shares(chart,
      curves.map(({ name, roc: { x, y, auc } }) => ({ name, x, y, text: `AUC ${Dom.number(auc, 3)}` })), ["false alarms", "found", "ROC curve"]), "The nearer to the upper left corner, the better; the dashed line is guessing."];
    const bins = ["Calibration: predicted and observed shares", (chart) => this.bins(chart, `predicted: ${this.output().name}`, "observed share", true), "On the dashed line, as many rows are of the class as predicted. Lines: 95 % intervals."];
    return curves.length ? [roc, bins] : [bins];
  }

  ofPoints(points, title) {
    if (!points) return [];
    const { predicted, observed } = points, format = (x) => Dom.number(x, 4), residuals = observed.map((y, i) => y - predicted[i]);
    return [
      ["Predicted against actual", (chart) => Plots.scatter(chart, predicted, observed, [title, "Actual", "Predicted against actual"], format, false), "One dot for each row; on the dashed line, it is predicted exactly."],
      ["Residuals: actual minus predicted", (chart) => Plots.scatter(chart, predicted, residuals, [title, "Residual", "Residuals"], format, true), "How far off each row is; a pattern would be something that the model has missed."],
    ];
  }

  bins(chart, predicted, observed, shares = false) {
    const format = shares ? Dom.percent : (x) => Dom.number(x, 4);
    Plots.calibration(chart, this.output().bins, [predicted, observed, "Calibration"], format, shares);
  }

  residuals(chart) {
    const { predicted, observed } = this.output().bins;
    Plots.scatter(chart, predicted, observed.map((y, i) => y - predicted[i]), ["Mean prediction", "Residual", "Residuals"], (x) => Dom.number(x, 3), true);
  }

  coverage(chart) {
    const lines = this.found.outputs.map(({ name, coverage: { wanted, observed } }) => ({ name, wanted, observed }));
    const nothing = lines.map(() => null);
    Plots.calibration(chart, {
      predicted: lines.map(({ wanted }) => wanted), observed: lines.map(({ observed }) => observed), low: nothing, high: nothing, rows: lines.map(() => this.found.outputs[0].bins.rows.reduce((a, b) => a + b, 0)),
    }, ["wanted share below", "observed share below", "Quantiles"], Dom.percent, true);
  }
}

Section.add(PerformanceSection);
