// One control for each column: a slider with a number box, a list of levels, or a choice between two.

class Controls {
  constructor(model, order, row, { changed, focused }) {
    Object.assign(this, { model, order, row, changed, focused });
    this.controls = new Map();
    Dom.byId("filter").addEventListener("input", () => this.list());
    Dom.byId("controls").addEventListener("scroll", () => this.tellOfMore(), { passive: true });
    new ResizeObserver(() => this.tellOfMore()).observe(Dom.byId("controls"));
    this.list();
  }

  // The controls of the columns whose name holds the text of the filter, the most influential first.
  list() {
    const text = Dom.byId("filter").value.trim().toLowerCase();
    const found = this.order.filter((i) => this.model.columns[i].name.toLowerCase().includes(text));
    const shown = found.slice(0, CONSTANTS.most_controls);
    Dom.fill(Dom.byId("controls"), ...shown.map((i) => this.control(i).element));
    Dom.byId("shown").textContent = `${shown.length} of ${Dom.number(this.model.columns.length)} columns, the most influential first`;
    this.tellOfMore();
  }

  // Below a list that scrolls stands how many columns lie further down.
  tellOfMore() {
    const list = Dom.byId("controls"), end = list.getBoundingClientRect().bottom;
    const below = [...list.children].filter((own) => own.getBoundingClientRect().bottom > end + 8).length;
    Dom.byId("more").textContent = below ? `↓ ${below} more below: scroll this list` : "";
  }

  control(i) {
    if (!this.controls.has(i)) {
      const { kind, own, pooled, choices } = this.model.columns[i], two = own.length === 2 && !pooled;
      const control = kind === "category" ? (two ? this.twoLevels(i) : this.levels(i)) : choices ? this.twoNumbers(i) : this.number(i);
      control.element.addEventListener("focusin", () => this.focused(i));
      this.controls.set(i, control);
      control.show(this.row[i]);
    }
    return this.controls.get(i);
  }

  set(i, cell) {
    this.row[i] = cell;
    this.changed(i);
  }

  // All controls that exist show the row again.
  show() {
    for (const [i, control] of this.controls) control.show(this.row[i]);
  }

  choose(chosen) {
    for (const [i, control] of this.controls) control.element.classList.toggle("chosen", i === chosen);
  }

  frame(i, ...children) {
    const { name, unit, identifier, promised } = this.model.columns[i];
    const title = Dom.make("span", { class: "name", id: `name-${i}`, title: [name, ...promised].join("\n") }, unit ? `${name} (${unit})` : name);
    const flag = identifier ? Dom.make("span", { class: "flag" }, "looks like an identifier: it names rows, it does not describe them") : null;
    return Dom.make("div", { class: "control", "data-column": i, role: "group", "aria-labelledby": `name-${i}` }, title, flag, ...children);
  }

  // Two numbers, and that the cell is missing if training has seen that.
  twoNumbers(i) {
    const { choices, missing } = this.model.columns[i];
    return this.choice(i, [...choices.map((x) => [x, Dom.cell(x, 12)]), ...(missing >= 0 ? [[null, "missing"]] : [])]);
  }

  twoLevels(i) {
    const options = [...this.model.columns[i].levels.entries()];
    return this.choice(i, this.row[i] < 0 ? [...options, [-1, "average"]] : options);
  }

  // Cells to choose from: [cell, text]; any other cell is written below them.
  choice(i, options) {
    const note = Dom.make("p", { class: "note", hidden: true });
    const inputs = options.map(() => Dom.make("input", { type: "radio", name: `choice-${i}` }));
    inputs.forEach((input, n) => input.addEventListener("change", () => { note.hidden = true; this.set(i, options[n][0]); }));
    const labels = options.map(([, text], n) => Dom.make("label", { title: text }, inputs[n], Dom.short(text, 40)));
    const show = (cell) => {
      inputs.forEach((input, n) => { input.checked = options[n][0] === cell; });
      note.hidden = options.some(([own]) => own === cell);
      note.textContent = `now ${cell === null ? "missing" : cell < 0 && this.model.columns[i].kind === "category" ? "average" : Dom.cell(cell)}`;
    };
    return { element: this.frame(i, Dom.make("div", { class: "choices", role: "radiogroup", "aria-labelledby": `name-${i}` }, ...labels), note), show };
  }

  levels(i) {
    const column = this.model.columns[i];
    const average = column.pooled ? "(average level)" : "(average, or a level not seen in training)";
    const options = [[-1, average], ...column.levels.entries()];
    const select = Dom.make("select", { "aria-labelledby": `name-${i}` });
    select.append(...options.map(([value, text]) => Dom.make("option", { value, title: text }, Dom.short(text, 60))));
    select.addEventListener("change", () => this.set(i, Number(select.value)));
    return { element: this.frame(i, select), show: (cell) => { select.value = String(cell); } };
  }

  number(i) {
    const column = this.model.columns[i];
    const scale = new NumberScale(column.axis);
    const span = scale.isEven ? { min: column.low, max: column.high, step: column.whole ? 1 : "any" } : { min: 0, max: 1, step: 1 / CONSTANTS.slider_steps };
    const slider = Dom.make("input", { type: "range", "aria-label": column.name, ...span });
    const box = Dom.make("input", { type: "number", step: "any", "aria-label": `${column.name}, value`, placeholder: "missing" });
    const gap = Dom.make("input", { type: "checkbox", "aria-describedby": `name-${i}` });
    const missing = column.missing >= 0 ? Dom.make("label", { class: "check" }, gap, "missing") : null;
    const note = Dom.make("p", { class: "range-note", role: "status", hidden: true });
    const show = (cell) => {
      this.outside(column, cell, note);
      gap.checked = cell === null;
      box.value = cell === null ? "" : String(Controls.rounded(column, cell, 5)); // the row keeps all digits
      box.title = cell === null ? "" : String(cell);
      slider.value = Controls.position(scale, cell === null ? column.median : cell);
      slider.setAttribute("aria-valuetext", cell === null ? "missing" : Dom.cell(cell));
    };
    const set = (cell) => { show(cell); this.set(i, cell); };
    slider.addEventListener("input", () => set(this.chosen(column, scale, Number(slider.value), this.row[i])));
    box.addEventListener("input", () => { this.typed(i, box, gap, slider, scale); this.outside(column, this.row[i], note); });
    gap.addEventListener("change", () => set(gap.checked ? null : this.chosen(column, scale, Number(slider.value), null)));
    return { element: this.frame(i, Dom.make("div", { class: "pair" }, slider, box, missing), note), show };
  }

  // A note where a number is outside of what training has seen.
  outside(column, cell, note) {
    const out = Controls.isOutside(column, cell);
    note.hidden = !out;
    if (out) note.textContent = Controls.outsideText(column, cell);
  }

  static isOutside({ kind, low, high }, cell) {
    return kind !== "category" && cell !== null && (cell < low || cell > high);
  }

  static outsideText({ low, high, clamp }, cell) {
    const range = `${Dom.cell(low)} to ${Dom.cell(high)}`;
    const then = clamp ? `the model treats it as ${Dom.cell(cell < low ? low : high)}` : "the model continues straight, unproven by data";
    return `Outside of the training range (${range}): ${then}.`;
  }

  // Where a number is on a slider.
  static position(scale, x) {
    return scale.isEven ? x : Math.min(Math.max(scale.place(x), 0), 1);
  }

  // The number at a position of a slider; a step always reaches another number.
  chosen(column, scale, position, now) {
    if (scale.isEven) return this.tidy(column, position);
    const x = this.tidy(column, scale.number(position)), found = column.whole ? Math.round(x) : x;
    if (now === null || found !== now) return found;
    return Math.min(Math.max(now + Math.sign(position - scale.place(now)) * (column.whole ? 1 : 0), column.low), column.high);
  }

  // What is typed is left as it stands; half a number is no number yet, an empty box is a missing cell.
  typed(i, box, gap, slider, scale) {
    if (box.validity.badInput) return;
    const cell = box.value === "" ? null : Number(box.value);
    gap.checked = cell === null;
    if (cell !== null) slider.value = Controls.position(scale, cell);
    this.set(i, cell);
  }

  // A value of the slider with as many digits as a thousandth of the range needs, inside of the range.
  tidy(column, x) {
    return Math.min(Math.max(Controls.rounded(column, x, 3), column.low), column.high);
  }

  // x with this many digits more than the range of the column, or its usual one, has before its first one.
  static rounded({ low, high, axis }, x, digits) {
    if (!(high > low)) return x;
    return Number(x.toFixed(Math.min(Math.max(digits - Math.floor(Math.log10(new NumberScale(axis).unit(x))), 0), 100)));
  }
}
