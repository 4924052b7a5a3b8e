// What would change the decision: the smallest change of each column alone, or of two, found in slices between frames.

class DecisionSection extends Section {
  static id = "decision";
  static link = "Change it";
  static title = "What would change the decision";
  static markup = `
    <div class="bar">
      <label class="field" id="goal-class-field">Class to reach <select id="goal-class"></select></label>
      <label class="field" id="goal-number-field">Prediction to reach <input id="goal-number" type="number" step="any"></label>
    </div>
    <p id="decision-text" role="status"></p>
    <div class="bar" id="decision-pair"></div>
    <div id="decision-columns"></div>
    <details class="screen" id="decision-rest"><summary></summary><div id="decision-others"></div></details>
    <label class="check screen" id="decision-all-field"><input type="checkbox" id="decision-all"> show all columns</label>
    <details class="screen"><summary>How it is found</summary>
    <p class="note">Found in this page by a search: every column alone, within its training range and with all others as in the
    row above, then pairs of the most promising ones. Where it says proven, no value of the column is enough; elsewhere the search
    may have missed one, or a smaller change. Changes are compared in spreads of their column (the middle half of its knots);
    another level is one spread. Locked columns stay as they are. In Python, model.counterfactual proves the cheapest change of
    any number of columns.</p></details>`;
  static SLICE_MS = 10; // of searching between two frames

  constructor(app, body) {
    super(app, body);
    const { words, model } = app, { classes } = words.about;
    this.goals = new Goals(model, words, app.typical);
    this.locked = new Set();
    this.target = null;
    Dom.options("goal-class", ["any other", ...classes]);
    Dom.byId("goal-class-field").hidden = classes.length < 3;
    Dom.byId("goal-number-field").hidden = classes.length > 0;
    if (!classes.length) Dom.byId("decision-title").textContent = "What would change the prediction";
    Dom.byId("decision-all-field").hidden = model.columns.length <= CONSTANTS.most_bars;
    this.listen();
  }

  listen() {
    const on = (id, kind, action) => Dom.byId(id).addEventListener(kind, (event) => { action(event.target); this.settle(); });
    on("goal-class", "change", () => {});
    on("goal-number", "input", ({ valueAsNumber }) => { this.target = Number.isNaN(valueAsNumber) ? null : valueAsNumber; });
    on("decision-all", "change", () => {});
  }

  // ---- what the page calls --------------------------------------------------------------------------------------

  update() {
    this.body.setAttribute("aria-busy", "true");
    clearTimeout(this.timer);
  }

  settle() {
    this.update();
    this.began = performance.now();
    this.work = 0;
    this.slice(this.search());
  }

  paper() {
    clearTimeout(this.timer);
    if (this.steps) while (!this.advance(this.steps)) {}
  }

  // ---- the search -----------------------------------------------------------------------------------------------

  slice(steps) {
    this.steps = steps;
    if (!this.advance(steps)) this.timer = setTimeout(() => this.slice(steps));
  }

  // A few milliseconds of work; returns whether it is done.
  advance(steps) {
    const began = performance.now();
    let done = false;
    while (!done && performance.now() - began < DecisionSection.SLICE_MS) ({ done } = steps.next());
    this.work += performance.now() - began;
    if (done) this.finish();
    return done;
  }

  finish() {
    this.steps = null;
    this.app.lastSearchMs = this.work;
    this.show();
    this.body.setAttribute("aria-busy", "false");
  }

  *search() {
    const { model, row } = this.app, goal = this.goal();
    this.found = { goal, singles: new Map(), pair: null };
    if (!goal || goal.reached(this.app.scores)) return;
    const changes = new Changes(this.app, goal, row, [...model.columns.keys()].filter((i) => !this.locked.has(i)));
    const singles = yield* changes.singles(Dom.byId("decision-all").checked ? Infinity : CONSTANTS.most_bars);
    const alone = [...singles.values()].some((own) => own.move !== undefined);
    this.found = { goal, singles, pair: alone ? null : yield* changes.pair() };
  }

  goal() {
    const { scores, chosen, words } = this.app;
    if (words.about.classes.length) return this.goals.ofClass(Number(Dom.byId("goal-class").value) - 1, scores);
    const typical = this.goals.ofTypicalRow(chosen.output);
    Dom.byId("goal-number").placeholder = `typical row: ${Dom.number(typical, 4)}`;
    return this.goals.ofNumber(chosen.output, this.target ?? typical, scores);
  }

  // ---- what it shows --------------------------------------------------------------------------------------------

  show() {
    const { goal, singles, pair } = this.found, focus = document.activeElement?.id;
    const order = this.order(singles), shown = Dom.byId("decision-all").checked ? order : order.slice(0, CONSTANTS.most_bars);
    Dom.byId("decision-text").textContent = this.summary(goal, order);
    Dom.fill(Dom.byId("decision-pair"), pair && this.button("apply-pair", pair));
    const heads = ["column", "lock", "now", "change to", "then", "apply"];
    const reached = !goal || goal.reached(this.app.scores);
    const found = shown.filter((i) => singles.get(i)?.move !== undefined || this.locked.has(i)), rest = shown.filter((i) => !found.includes(i));
    const table = (name, some) => (reached || !some.length ? null : Tables.table(name, heads, some.map((i) => this.line(i, singles.get(i)))));
    Dom.fill(Dom.byId("decision-columns"), table("Changes of single columns", found));
    Dom.fill(Dom.byId("decision-others"), table("Columns that are not enough", rest));
    Dom.byId("decision-rest").hidden = reached || !rest.length;
    Dom.byId("decision-rest").firstChild.textContent = rest.length === 1 ? "A column that is not enough alone" : `${rest.length} columns that are not enough alone`;
    if (focus && this.body.contains(Dom.byId(focus))) Dom.byId(focus).focus({ preventScroll: true });
  }

  // Columns that reach the goal first, the smallest change before all others; locked ones last.
  order(singles) {
    const { columns } = this.app.model;
    const rank = (i) => [singles.get(i)?.cost ?? Infinity, Number(this.locked.has(i)), -columns[i].strength];
    const compare = (a, b) => (a[0] === b[0] ? a[1] - b[1] || a[2] - b[2] : a[0] - b[0]);
    return [...columns.keys()].sort((i, j) => compare(rank(i), rank(j)));
  }

  summary(goal, order) {
    const { app, found } = this, now = `Now: ${app.words.headline(app.scores)}.`;
    if (!goal) return `${now} Type the prediction that you want to reach, or change a column above.`;
    if (goal.reached(app.scores)) return `${now} That is the goal already.`;
    const first = found.singles.get(order[0]), aim = `For ${goal.words}`;
    if (first?.move !== undefined) return `${now} ${aim}, the smallest change of one column is ${this.change([[order[0], first.move]])}.`;
    if (found.pair) return `${now} ${aim}, no single column is enough; two are: ${this.change(found.pair)}. Then: ${this.then(found.pair)}.`;
    return `${now} ${aim}, no single column is enough, and no pair of columns that was tried.`;
  }

  change(moves) {
    return moves.map(([i, cell]) => `${Dom.short(this.app.model.columns[i].name, 40)} from ${this.cell(i, this.app.row[i])} to ${this.cell(i, cell)}`).join(" and ");
  }

  cell(i, cell) {
    const column = this.app.model.columns[i];
    if (column.kind === "category") return cell < 0 ? "(average)" : Dom.short(column.levels[cell], 40);
    return cell === null ? "(missing)" : Dom.cell(Controls.rounded(column, cell, 5), 12);
  }

  then(moves) {
    return this.app.words.headline(this.app.model.scores(this.changed(moves)));
  }

  changed(moves) {
    const row = this.app.row.slice();
    for (const [i, cell] of moves) row[i] = cell;
    return row;
  }

  line(i, own) {
    const { name } = this.app.model.columns[i], moves = own?.move === undefined ? null : [[i, own.move]];
    const lock = Dom.make("input", { type: "checkbox", id: `lock-${i}`, "aria-label": `Lock ${name}` });
    lock.checked = this.locked.has(i);
    lock.addEventListener("change", () => { this.locked[lock.checked ? "add" : "delete"](i); this.settle(); });
    return Tables.row(Tables.first(name), Dom.make("td", {}, lock), Tables.value(this.cell(i, this.app.row[i])),
      moves ? Tables.value(this.cell(i, own.move)) : Tables.words(this.none(i, own)),
      ...(moves ? [Tables.value(this.then(moves)), Dom.make("td", {}, this.button(`apply-${i}`, moves))] : this.blank()));
  }

  // Two cells of a line without a change, for which a narrow screen has no room.
  blank() {
    return ["–", ""].map((text) => Dom.make("td", { class: "blank" }, text));
  }

  none(i, own) {
    if (this.locked.has(i)) return "locked";
    if (own?.missing) return "missing: it stays so";
    const { whole } = this.app.model.columns[i];
    return own?.proven ? `no ${whole ? "whole number" : "value of it"} does (proven)` : "no value found";
  }

  // What was found for an earlier row is not applied to a later one.
  button(id, moves) {
    const button = Dom.make("button", { type: "button", id, "aria-label": `Apply: ${this.change(moves)}` }, "apply");
    button.addEventListener("click", () => { if (this.body.getAttribute("aria-busy") === "false") this.app.set(this.changed(moves)); });
    return button;
  }
}

Section.add(DecisionSection);
