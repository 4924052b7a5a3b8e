// Try it: a control for every column, the prediction, what moves it, and what one column could do to it.

class TrySection extends Section {
  static id = "try";
  static link = "Try it";
  static title = "Try it";
  static markup = `
    <div class="split">
      <div class="inputs">
        <div class="bar">
          <label class="field">Start from <select id="example"></select></label>
          <label class="field">Find a column <input id="filter" type="search" autocomplete="off"></label>
        </div>
        <p class="note" id="shown" role="status"></p>
        <div class="controls" id="controls" role="group" aria-label="Columns of the row"></div>
      </div>
      <div class="results">
        <div class="card prediction">
          <h3 id="prediction-title">Prediction</h3>
          <output class="big" id="prediction" aria-live="polite"></output>
          <p class="note" id="score"></p>
        </div>
        <div class="card" id="outputs-card"><div class="chart" id="outputs-chart"></div></div>
        <label class="field" id="output-field">Explain <select id="output"></select></label>
        <div class="card">
          <h3>What moves it here</h3>
          <p class="note" id="influence-note"></p>
          <div class="chart" id="influence-chart"></div>
          <details id="slopes"><summary>Changes and slopes as numbers</summary><div id="slopes-body"></div></details>
          <label class="check" id="all-field"><input type="checkbox" id="all"> show all columns</label>
        </div>
        <div class="card" id="whatif">
          <h3>What if one column changes?</h3>
          <div class="bar">
            <label class="field">Column <select id="whatif-column"></select></label>
            <label class="field" id="from-field">from <input id="from" type="number" step="any"></label>
            <label class="field" id="to-field">to <input id="to" type="number" step="any"></label>
          </div>
          <p id="whatif-text" role="status"></p>
        </div>
        <details class="card" id="inside">
          <summary>The mathematics: eigenvalues at this row</summary>
          <label class="field" id="member-field">Member <select id="member"></select></label>
          <p class="note" id="gap"></p>
          <div class="chart" id="spectrum-chart"></div>
        </details>
      </div>
    </div>`;

  constructor(app, body) {
    super(app, body);
    this.fan = [Infinity, -Infinity];
    this.range = { column: null, from: null, to: null };
    this.controls = new Controls(app.model, app.row, { changed: () => app.update(), focused: (i) => this.chooseColumn(i) });
    this.selectors();
    this.listen();
    this.chooseColumn(app.strongest());
  }

  selectors() {
    const { model, payload, words, chosen } = this.app;
    const examples = payload.data ? payload.data.examples : [];
    Dom.options("example", ["a typical row", ...examples.map((example) => words.example(example))]);
    Dom.options("output", model.outputs.map(({ name }) => name), chosen.output);
    Dom.options("whatif-column", model.columns.map(({ name }) => name));
    Dom.options("member", model.weights.map((_, m) => `${m + 1} of ${model.members}`));
    Dom.byId("output-field").hidden = model.outputs.length < 2;
    Dom.byId("outputs-card").hidden = model.outputs.length < 2 && !payload.about.classes.length;
    Dom.byId("member-field").hidden = model.members < 2;
    Dom.byId("all-field").hidden = model.columns.length <= CONSTANTS.most_bars;
  }

  listen() {
    const on = (id, kind, action) => Dom.byId(id).addEventListener(kind, (event) => action(event.target));
    on("example", "change", ({ value }) => this.startFrom(Number(value)));
    on("output", "change", ({ value }) => { this.app.chosen.output = Number(value); this.app.update(); });
    on("whatif-column", "change", ({ value }) => this.chooseColumn(Number(value)));
    on("from", "input", () => this.readRange());
    on("to", "input", () => this.readRange());
    on("member", "change", () => this.draw());
    on("all", "change", () => this.draw());
    on("slopes", "toggle", () => this.draw());
    on("inside", "toggle", () => this.draw());
  }

  startFrom(position) {
    const { payload, model } = this.app;
    this.app.set(position ? payload.data.examples[position - 1].cells : model.typicalRow());
  }

  // The column of the what-if, over all of its training range if it is not the one from before.
  chooseColumn(i) {
    const { kind, low, high } = this.app.model.columns[i];
    const category = kind === "category";
    if (i !== this.range.column) this.range = { column: i, from: low, to: high };
    Dom.byId("whatif-column").value = String(i);
    Dom.byId("from").value = category ? "" : this.range.from;
    Dom.byId("to").value = category ? "" : this.range.to;
    Dom.byId("from-field").hidden = Dom.byId("to-field").hidden = category;
    this.controls.choose(i);
    this.app.settle();
  }

  readRange() {
    const [from, to] = ["from", "to"].map((id) => Dom.byId(id).valueAsNumber);
    if (Number.isNaN(from) || Number.isNaN(to)) return;
    Object.assign(this.range, { from: Math.min(from, to), to: Math.max(from, to) });
    this.app.settle();
  }

  // ---- what the page calls --------------------------------------------------------------------------------------

  reset() {
    this.controls.show();
  }

  update() {
    const { scores, words } = this.app;
    Dom.byId("prediction-title").textContent = words.title();
    Dom.byId("prediction").textContent = words.headline(scores);
    Dom.byId("score").textContent = words.scoreLine(scores);
  }

  draw() {
    const { bounds, row, words } = this.app, output = this.app.output();
    const point = bounds.point(output, row);
    this.drawInfluences(bounds.influences(output, row, point));
    this.drawOutputs();
    Dom.byId("influence-note").textContent = words.influences(point);
    this.drawSpectrum(point[Number(Dom.byId("member").value)], output);
  }

  settle() {
    const { bounds, model, row, chosen, words } = this.app, { column, from, to } = this.range;
    const range = bounds.seen(model.outputs, row, column, from, to, chosen.output);
    Dom.byId("whatif-text").textContent = words.whatIf(model.columns[column], { from, to, output: chosen.output }, range);
  }

  // ---- charts -----------------------------------------------------------------------------------------------------

  // A fan of quantiles, or bars of probabilities.
  drawOutputs() {
    const { model, scores, words } = this.app, { classes } = words.about;
    const element = Dom.byId("outputs-chart"), seen = model.predictions(scores);
    if (classes.length) {
      const chances = words.chances(seen);
      Charts.bars(element, classes, chances, chances.map(Dom.percent), "probability", { range: [0, 1] });
    } else if (seen.length > 1) {
      const [low, high] = (this.fan = [Math.min(this.fan[0], seen[0]), Math.max(this.fan[1], seen.at(-1))]);
      const room = 0.05 * (high - low) || 1;
      Charts.fan(element, model.outputs.map(({ name }) => name), seen, words.target, [low - room, high + room]);
    }
  }

  drawInfluences(found) {
    const { model, words } = this.app;
    const order = [...found.keys()].sort((i, j) => Math.abs(found[j].change) - Math.abs(found[i].change));
    const shown = Dom.byId("all").checked ? order : order.slice(0, CONSTANTS.most_bars);
    const names = shown.map((i) => model.columns[i].name);
    const texts = shown.map((i) => words.influence(found[i]));
    Charts.bars(Dom.byId("influence-chart"), names, shown.map((i) => found[i].change), texts, `change of the ${words.unit()}`);
    if (Dom.byId("slopes").open) this.fillSlopes(names, shown.map((i) => found[i]));
  }

  fillSlopes(names, found) {
    const rows = found.map(({ change, slope }, i) =>
      Tables.row(Tables.first(names[i]), Tables.value(Dom.signed(change)), Tables.value(slope ? Dom.range(slope) : "–")));
    Dom.fill(Dom.byId("slopes-body"), Tables.table("Slopes", ["column", "change", "slope per unit"], rows));
  }

  drawSpectrum(member, output) {
    if (!Dom.byId("inside").open) return;
    Charts.spectrum(Dom.byId("spectrum-chart"), member.values, output.index);
    Dom.byId("gap").textContent = this.app.words.gap(member, output);
  }
}

Section.add(TrySection);
