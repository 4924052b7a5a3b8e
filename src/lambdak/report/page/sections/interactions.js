// Pairs of columns: how much each two do together, and the prediction over the two that were chosen.

class InteractionsSection extends Section {
  static id = "interactions";
  static link = "Interactions";
  static markup = `
    <div class="pairs" id="pairs">
      <details class="card" id="all-pairs" open><summary>Choose a pair: the darker, the more they act together</summary><div class="chart" id="pairs-chart"></div></details>
      <div class="card">
        <label class="field screen">Pair of columns <select id="pair"></select></label>
        <h3 id="surface-title"></h3>
        <div class="chart" id="surface-chart"></div>
        <p class="note" id="surface-note"></p>
      </div>
    </div>`;

  constructor(app, body) {
    super(app, body);
    this.pairs = app.payload.pairs;
    Dom.byId("pairs").hidden = !this.pairs;
    if (!this.pairs) return;
    Dom.byId("all-pairs").open = !Dom.narrow();
    Dom.byId("all-pairs").addEventListener("toggle", () => this.resize());
    const { columns, joint } = this.pairs, many = [...columns.keys()];
    this.list = many.flatMap((i) => many.slice(0, i).map((j) => [i, j])).sort(([a, b], [c, d]) => joint[c][d] - joint[a][b]);
    Dom.options("pair", this.list.map(([i, j]) => `${this.name(j)} and ${this.name(i)}`));
    Dom.byId("pair").addEventListener("change", () => { this.resize(); this.settle(); });
  }

  name(i) {
    return this.app.model.columns[this.pairs.columns[i]].name;
  }

  pick(i, j) {
    Dom.byId("pair").value = String(this.list.findIndex(([a, b]) => a === Math.max(i, j) && b === Math.min(i, j)));
    this.resize();
    this.settle();
  }

  resize() {
    if (!this.pairs) return;
    const { columns, joint } = this.pairs, chosen = this.list[Number(Dom.byId("pair").value)];
    const tip = (i, j) => `${this.name(j)} and ${this.name(i)}: ${Dom.number(joint[i][j], 3)}`;
    const values = joint.map((row, i) => row.map((value, j) => (j < i ? value : null)));
    Plots.heat(Dom.byId("pairs-chart"), { values, label: `What pairs of ${columns.length} columns do together; the table below has numbers`, names: columns.map((_, i) => this.name(i)), tip, chosen, pick: (i, j) => this.pick(i, j) });
  }

  // ---- the two columns that were chosen ---------------------------------------------------------------------------

  settle() {
    if (!this.pairs) return;
    const { words, chosen, row, model } = this.app, [i, j] = this.list[Number(Dom.byId("pair").value)].map((own) => this.pairs.columns[own]);
    const across = this.axis(j), up = this.axis(i), seen = words.seen(chosen.output);
    const values = this.values(i, up.cells, j, across.cells), title = `${seen[0].toUpperCase()}${seen.slice(1)}`;
    Dom.byId("surface-title").textContent = `${title} over both`;
    Plots.surface(Dom.byId("surface-chart"), values, [across, up], this.here(across, row[j], up, row[i]), (x) => words.shown(x), title);
    const [low, high] = Svg.span(values.flat());
    Dom.byId("surface-note").textContent = `From ${words.shown(low)} (light) to ${words.shown(high)} (dark), with all other columns as in the row above; the dot is that row.` +
      ([i, j].some((own) => model.columns[own].kind === "category") ? "" : " Where the data are thin, little was learned.");
  }

  axis(i) {
    const column = this.app.model.columns[i], { kind, low, high, name, levels, choices } = column, n = CONSTANTS.surface_nodes;
    if (choices) return { title: name, cells: choices, texts: choices.map((x, c) => [c, Dom.cell(x, 6)]), cell: (c) => Dom.cell(choices[c], 6), place: (x) => choices.indexOf(x) };
    if (kind === "category") {
      const cells = [...levels.keys()].slice(0, n);
      return { title: name, cells, texts: cells.map((c) => [c, Dom.short(levels[c], 10)]), cell: (c) => levels[cells[c]], place: (cell) => cell };
    }
    const scale = new NumberScale(column.axis), cells = scale.even(n), place = (x) => scale.place(x) * (n - 1);
    const text = scale.isEven ? Dom.cells(low, high) : (x) => Dom.cell(x, 6);
    return { title: scale.isEven ? name : `${name} (compressed at the ends)`, cells, texts: scale.ticks(5).map((t) => [place(t), text(t)]), cell: (c) => Dom.cell(cells[c], 4), place };
  }

  here(across, x, up, y) {
    const known = [x, y].every((cell) => cell !== null && cell !== -1), at = [across.place(x), up.place(y)];
    return known && at[0] >= -0.5 && at[0] < across.cells.length && at[1] >= -0.5 && at[1] < up.cells.length ? at : null;
  }

  values(i, up, j, across) {
    const { model, chosen, words } = this.app, needed = model.link === "softmax" ? model.outputs : [this.app.output()];
    return up.map((cell) => {
      const row = this.app.row.slice();
      row[i] = cell;
      const scores = needed.map((output) => model.along(output, row, j, across));
      return across.map((_, c) => (needed.length > 1 ? words.seenOf(scores.map((own) => own[c]), chosen.output) : model.single(scores[0][c])));
    });
  }
}

Section.add(InteractionsSection);
