// Effect curves, drawn when they come into view and again, a few at a time, when the row has changed.

class EffectsSection extends Section {
  static id = "effects";
  static link = "Effects";
  static title = "Effect of each column";
  static markup = `
    <p class="note" id="effects-note"></p>
    <label class="check screen"><input type="checkbox" id="same-scale"> same vertical scale for all columns</label>
    <div class="grid" id="effect-charts"></div>`;
  static SLICE_MS = 12; // of drawing between two frames

  constructor(app, body) {
    super(app, body);
    const { columns } = (this.model = app.model);
    this.visible = new Set();
    this.stale = new Set(columns.keys());
    this.bands = new Map();
    this.cards = new Map();
    this.observer = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "200px" });
    const order = [...columns.keys()].sort((i, j) => columns[j].strength - columns[i].strength);
    Dom.fill(Dom.byId("effect-charts"), ...order.slice(0, CONSTANTS.most_controls).map((i) => this.card(i)));
    Dom.byId("same-scale").addEventListener("change", () => this.settle());
  }

  card(i) {
    const { name } = this.model.columns[i];
    const chart = Dom.make("div", { class: "chart" });
    const note = Dom.make("p", { class: "note" }, this.app.words.most(this.model.columns[i]));
    const card = Dom.make("div", { class: "card effect", "data-column": i }, Dom.make("h3", { title: name }, name), note, chart);
    this.cards.set(i, chart);
    this.observer.observe(card);
    return card;
  }

  seen(entries) {
    for (const { target, isIntersecting } of entries) {
      this.visible[isIntersecting ? "add" : "delete"](Number(target.dataset.column));
    }
    this.next();
  }

  update() {
    Dom.byId("effects-note").textContent = this.app.words.effects(this.app.chosen.output);
  }

  settle() {
    this.stale = new Set(this.model.columns.keys());
    this.next();
  }

  next() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      const until = performance.now() + EffectsSection.SLICE_MS;
      for (const i of this.visible) {
        if (performance.now() > until) break;
        if (this.stale.has(i)) this.drawColumn(i);
      }
      if ([...this.visible].some((i) => this.stale.has(i))) this.next();
    });
  }

  paper() {
    for (const i of this.cards.keys()) if (this.stale.has(i)) this.drawColumn(i);
  }

  drawColumn(i) {
    this.stale.delete(i);
    const column = this.model.columns[i], { row, bounds } = this.app, output = this.app.output();
    const category = column.kind === "category";
    const cells = category ? [...column.levels.keys()] : bounds.nodes(column, column.low, column.high, CONSTANTS.curve_nodes);
    if (!cells.length) return;
    const scores = this.model.along(output, row, i, [...cells, row[i]]);
    const here = scores.pop();
    const band = this.band(output, i, row[i], cells);
    const seen = (score) => this.model.single(score);
    const drawn = {
      name: column.name,
      seen: scores.map(seen),
      low: band.map(([fall]) => seen(here + fall)),
      high: band.map(([, rise]) => seen(here + rise)),
      here: this.position(column, row[i], seen(here)),
      range: Dom.byId("same-scale").checked ? this.span(here).map(seen) : null,
    };
    if (category) Charts.levels(this.cards.get(i), { ...drawn, texts: column.levels });
    else Charts.curve(this.cards.get(i), { ...drawn, x: cells });
  }

  // Where the row is on the chart; nowhere if its cell is missing, average or outside of the range.
  position(column, cell, y) {
    if (cell === null || (column.kind === "category" && cell < 0)) return null;
    return column.kind !== "category" && (cell < column.low || cell > column.high) ? null : [cell, y];
  }

  band(output, i, cell, cells) {
    const { block } = output.family, key = `${block} ${i}`;
    if (this.bands.get(key)?.cell !== cell) {
      const ends = cells.map((to) => this.app.bounds.change(block, i, cell, to));
      this.bands.set(key, { cell, ends });
    }
    return this.bands.get(key).ends;
  }

  // A range of raw scores that holds every effect.
  span(here) {
    const most = this.model.columns.reduce((top, { strength }) => Math.max(top, strength), 0) || 1;
    return [here - most, here + most];
  }
}

Section.add(EffectsSection);
