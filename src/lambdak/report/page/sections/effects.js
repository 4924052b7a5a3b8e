// Effect curves, drawn when they come into view and again, a few at a time, when the row has changed.

class EffectsSection extends Section {
  static id = "effects";
  static link = "Effects";
  static title = "Effect of each column";
  static markup = `
    <p class="note" id="effects-note"></p>
    <label class="check screen"><input type="checkbox" id="same-scale"> same vertical scale for all columns</label>
    <div class="grid" id="effect-charts"></div>
    <details id="next-effects"><summary></summary><div class="grid" id="next-charts"></div></details>
    <details class="screen" id="more-effects"><summary></summary><div class="grid" id="more-charts"></div></details>`;
  static NARROW = 3; // columns that a narrow screen shows at once
  static SLICE_MS = 12; // of drawing between two frames

  constructor(app, body) {
    super(app, body);
    const { columns } = (this.model = app.model);
    this.visible = new Set();
    this.stale = new Set(columns.keys());
    this.bands = new Map();
    this.cards = new Map();
    this.observer = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "200px" });
    const { order, first } = app.payload, rest = order.filter((i) => !first.includes(i));
    const few = Dom.narrow() ? EffectsSection.NARROW : first.length, next = first.slice(few);
    Dom.fill(Dom.byId("effect-charts"), ...first.slice(0, few).map((i) => this.card(i)));
    Dom.fill(Dom.byId("next-charts"), ...next.map((i) => this.card(i)));
    Dom.byId("next-effects").hidden = !next.length;
    Dom.byId("next-effects").querySelector("summary").textContent = next.length === 1 ? "The next column" : `The next ${next.length} columns`;
    this.more(rest.slice(0, CONSTANTS.most_controls), rest.length);
    Dom.byId("same-scale").addEventListener("change", () => this.settle());
  }

  // The other columns, folded and made when they are first looked at.
  more(rest, many) {
    const details = Dom.byId("more-effects");
    details.hidden = !rest.length;
    details.querySelector("summary").textContent = `The other ${many === 1 ? "column" : `${many} columns`}${many > rest.length ? ` (${rest.length} of them are drawn)` : ""}`;
    details.addEventListener("toggle", () => {
      if (details.open && !Dom.byId("more-charts").children.length) Dom.fill(Dom.byId("more-charts"), ...rest.map((i) => this.card(i)));
    });
  }

  card(i) {
    const { name, unit, promised } = this.model.columns[i];
    const chart = Dom.make("div", { class: "chart" });
    const most = this.app.words.most(this.model.columns[i]), note = most ? Dom.make("p", { class: "note" }, most) : null;
    const card = Dom.make("div", { class: "card effect", "data-column": i }, Dom.make("h3", { title: name }, unit ? `${name} (${unit})` : name), note, ...promised.map((words) => Dom.make("p", { class: "promised" }, `promised: ${words}`)), chart);
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
    const column = this.model.columns[i], { row, words, payload } = this.app;
    const { choices } = column, listed = column.kind === "category" || choices;
    const cells = choices ?? (listed ? [...column.levels.keys()] : this.nodes(column));
    if (!cells.length) return;
    const found = this.seenAlong(i, cells), known = payload.data?.summary[i] ?? {};
    const drawn = { ...found, name: column.name, here: this.position(column, row[i], found.now), format: (x) => words.shown(x) };
    if (listed) Plots.levels(this.cards.get(i), { ...drawn, texts: choices ? choices.map((x) => Dom.cell(x, 12)) : column.levels, counts: known.counts });
    else Plots.curve(this.cards.get(i), { ...drawn, x: cells, named: column.named, scale: new NumberScale(column.axis), whole: column.whole, bins: known.bins, edges: known.edges });
  }

  // Numbers along the axis, with those at which the slope may change; whole ones of a column of whole numbers.
  nodes(column) {
    const { low, high, knots, whole } = column, scale = new NumberScale(column.axis);
    const found = scale.isEven ? this.app.bounds.nodes(column, low, high, CONSTANTS.curve_nodes) : [...knots, ...scale.even(CONSTANTS.curve_nodes)];
    return [...new Set(whole ? found.map(Math.round) : found)].sort((x, y) => x - y);
  }

  // What people see along a column: the curve, the band that it cannot leave, and its place now; of several classes the
  // probability of one, which depends on all of their scores.
  seenAlong(i, cells) {
    const { row, words, chosen } = this.app, { model } = this, joint = model.link === "softmax";
    const outputs = joint ? model.outputs : [this.app.output()], own = joint ? chosen.output : 0;
    const scores = outputs.map((output) => model.along(output, row, i, [...cells, row[i]])), now = scores.map((some) => some.pop());
    const bands = outputs.map((output) => this.band(output, i, row[i], cells));
    const of = (some) => (joint ? words.seenOf(some, own) : model.single(some[0]));
    const end = (n, side) => of(now.map((score, o) => score + bands[o][n][o === own ? side : 1 - side]));
    const same = Dom.byId("same-scale").checked;
    return {
      seen: cells.map((_, n) => of(scores.map((some) => some[n]))), low: cells.map((_, n) => end(n, 0)), high: cells.map((_, n) => end(n, 1)), now: of(now),
      range: same ? (joint ? [0, 1] : this.span(now[0]).map((score) => model.single(score))) : null,
    };
  }

  // Where the row is on the chart; nowhere if its cell is missing, average or outside of the range.
  position(column, cell, y) {
    if (cell === null || (column.kind === "category" && cell < 0)) return null;
    if (column.choices) return column.choices.includes(cell) ? [column.choices.indexOf(cell), y] : null;
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
