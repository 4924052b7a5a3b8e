// Try it: a control for every column, the prediction, what moves it, and what one column could do to it.

class TrySection extends Section {
  static id = "try";
  static link = "Try it";
  static title = "Try it";
  static markup = `
    <div class="split">
      <div class="inputs">
        <div class="bar">
          <label class="field" id="find-row-field">Find a row <input id="find-row" type="search" autocomplete="off"></label>
          <label class="field">Start from <select id="example"></select></label>
          <button type="button" id="reset">Reset</button>
          <label class="field">Find a column <input id="filter" type="search" autocomplete="off"></label>
        </div>
        <p class="note" id="rows-found" role="status"></p>
        <p class="note" id="shown" role="status"></p>
        <div class="controls" id="controls" role="group" aria-label="Columns of the row" tabindex="0"></div>
        <p class="note" id="more"></p>
      </div>
      <div class="results">
        <div class="card prediction">
          <h3 id="prediction-title">Prediction</h3>
          <output class="big" id="prediction" aria-live="polite"></output>
          <p class="note" id="usual-error"></p>
          <p class="note" id="score"></p>
          <p class="range-note" id="outside" role="status" hidden></p>
          <div class="chart" id="outputs-chart"></div>
        </div>
        <div class="card">
          <h3>Why this prediction</h3>
          <label class="field" id="output-field">Explain <select id="output"></select></label>
          <p class="note" id="shares-note"></p>
          <div class="chart" id="shares-chart"></div>
        </div>
        <div class="card" id="whatif">
          <h3>What if one column changes?</h3>
          <div class="bar whatif-bar">
            <label class="field">Column <select id="whatif-column"></select></label>
            <label class="field" id="from-field">from <input id="from" type="number" step="any"></label>
            <label class="field" id="to-field">to <input id="to" type="number" step="any"></label>
          </div>
          <p id="whatif-text" role="status"></p>
        </div>
        <details class="card screen" id="small">
          <summary>What small changes would do here</summary>
          <p class="note" id="influence-note"></p>
          <div class="chart" id="influence-chart"></div>
          <label class="check" id="all-field"><input type="checkbox" id="all"> show all columns</label>
          <details class="screen" id="slopes"><summary>Changes and slopes as numbers</summary><div id="slopes-body"></div></details>
        </details>
        <details class="card screen" id="inside">
          <summary>The mathematics: eigenvalues at this row</summary>
          <label class="field" id="member-field">Member <select id="member"></select></label>
          <p class="note" id="raw"></p>
          <p class="note" id="gap"></p>
          <div class="chart" id="spectrum-chart"></div>
        </details>
      </div>
    </div>`;

  static NARROW_STEPS = 9; // of the waterfall on a narrow screen

  constructor(app, body) {
    super(app, body);
    this.fan = [Infinity, -Infinity];
    this.range = { column: null, from: null, to: null };
    this.shares = new Shares(app.model);
    this.controls = new Controls(app.model, app.payload.order, app.row, { changed: () => app.update(), focused: (i) => this.chooseColumn(i) });
    this.selectors();
    this.listen();
    this.rows = new Rows(app);
    this.chooseColumn(app.payload.order[0]);
    Dom.byId("usual-error").textContent = app.words.usual();
  }

  selectors() {
    const { model, payload, words, chosen } = this.app;
    this.offset = chosen.follows ? 1 : 0; // the first choice follows the prediction
    const outputs = model.outputs.map((_, i) => words.output(i));
    Dom.options("output", this.offset ? [words.about.ordered ? "the predicted class or below" : "the most likely class", ...outputs] : outputs, this.offset ? 0 : chosen.output);
    Dom.options("whatif-column", model.columns.map(({ name }) => name));
    Dom.options("member", model.weights.map((_, m) => `${m + 1} of ${model.members}`));
    Dom.byId("output-field").hidden = model.outputs.length < 2;
    Dom.byId("outputs-chart").hidden = model.outputs.length < 2 && !payload.about.classes.length;
    Dom.byId("member-field").hidden = model.members < 2;
    Dom.byId("all-field").hidden = model.columns.length <= CONSTANTS.most_bars;
  }

  listen() {
    const on = (id, kind, action) => Dom.byId(id).addEventListener(kind, (event) => action(event.target));
    on("output", "change", ({ value }) => this.chooseOutput(Number(value) - this.offset));
    on("whatif-column", "change", ({ value }) => this.chooseColumn(Number(value)));
    on("from", "input", () => this.readRange());
    on("to", "input", () => this.readRange());
    on("member", "change", () => this.draw());
    on("all", "change", () => this.draw());
    on("slopes", "toggle", () => this.draw());
    on("small", "toggle", () => this.draw());
    on("inside", "toggle", () => this.draw());
  }

  chooseOutput(position) {
    Object.assign(this.app.chosen, position < 0 ? { follows: true } : { output: position, follows: false });
    this.app.update();
  }

  // The column of the what-if, over all of its training range if it is not the one from before.
  chooseColumn(i) {
    const { kind, low, high, choices } = this.app.model.columns[i];
    const category = kind === "category" || Boolean(choices);
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
    const { model, row, scores, words } = this.app;
    Dom.byId("prediction-title").textContent = words.title();
    Dom.byId("prediction").textContent = words.headline(scores);
    Dom.byId("score").textContent = words.fanLine(scores);
    Dom.byId("raw").textContent = words.scoreLine(scores);
    const out = model.columns.filter((column, i) => Controls.isOutside(column, row[i])).map(({ name }) => Dom.short(name, 30));
    Dom.byId("outside").hidden = !out.length;
    Dom.byId("outside").textContent = `Outside of the training range: ${out.join(", ")}. The model was not fitted to such rows.`;
  }

  draw() {
    const { model, row } = this.app, output = this.app.output();
    this.drawOutputs();
    this.drawShares(output);
    const open = ["small", "inside"].some((id) => Dom.byId(id).open);
    if (!open) return;
    const point = model.point(output, row);
    this.drawInfluences(output, point);
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
      const chances = model.chances(scores);
      Charts.bars(element, classes, chances, chances.map(Dom.percent), "Probability of each class", { range: [0, 1] });
    } else if (seen.length > 1) {
      const [low, high] = (this.fan = [Math.min(this.fan[0], seen[0]), Math.max(this.fan[1], seen.at(-1))]);
      const room = 0.05 * (high - low) || 1;
      Charts.fan(element, model.outputs.map((_, i) => words.output(i)), seen, words.target, [low - room, high + room]);
    }
  }

  // From the baseline to this row, the largest steps first and the rest as one.
  drawShares(output) {
    const { model, row, words, chosen } = this.app, { base, score, shares } = this.shares.of(output, row);
    const order = [...shares.keys()].sort((i, j) => Math.abs(shares[j]) - Math.abs(shares[i]));
    const felt = order.filter((i) => Math.abs(shares[i]) * 1000 > Math.abs(shares[order[0]])).length; // the others are thin lines
    const room = Dom.narrow() ? TrySection.NARROW_STEPS : CONSTANTS.most_columns;
    const most = Math.min(felt, order.length > room ? room - 1 : order.length), first = order.slice(0, most);
    const names = first.map((i) => `${Dom.short(model.columns[i].name, 20)} = ${Dom.short(words.cell(model.columns[i], row[i]), 12)}`);
    const steps = first.map((i) => shares[i]);
    if (most < order.length) {
      names.push(order.length - most === 1 ? "1 other column" : `${order.length - most} other columns`);
      steps.push(order.slice(most).reduce((sum, i) => sum + shares[i], 0));
    }
    const end = (name, value, scores) => ({ name, value, text: words.shown(words.seenOf(scores, chosen.output)) });
    Dom.byId("shares-note").textContent = words.shares(chosen.output);
    Charts.waterfall(Dom.byId("shares-chart"), {
      start: end("baseline", base, this.baselineScores ??= model.scores(this.shares.baseline)), end: end("this row", score, this.app.scores),
      names, steps, texts: steps.map((step) => words.step(step)), title: words.about.classes.length ? `log-odds of ${words.output(chosen.output)}` : words.target,
    });
  }

  drawInfluences(output, point) {
    if (!Dom.byId("small").open) return;
    const { bounds, model, row, words } = this.app, found = bounds.influences(output, row, point);
    const order = [...found.keys()].sort((i, j) => Math.abs(found[j].change) - Math.abs(found[i].change));
    const shown = Dom.byId("all").checked ? order : order.slice(0, CONSTANTS.most_bars);
    const names = shown.map((i) => model.columns[i].name), changes = shown.map((i) => found[i].change);
    const texts = shown.map((i) => words.influence(found[i]));
    Charts.bars(Dom.byId("influence-chart"), names, changes, texts, `change of the ${words.unit()}`, { shown: changes.map((x) => Dom.signed(x, 3)) });
    Dom.byId("influence-note").textContent = words.influences(point);
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
