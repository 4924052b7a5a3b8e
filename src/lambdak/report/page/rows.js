// The rows of the data to start from: found by name, chosen from a list; and the way back.

class Rows {
  constructor(app) {
    this.app = app;
    const data = app.payload.data, examples = data ? data.examples : [];
    this.texts = [this.typicalText(data), ...examples.map((example) => app.words.example(example))];
    this.cells = [app.typical, ...examples.map(({ cells }) => cells)];
    const find = Dom.byId("find-row"), list = Dom.byId("example");
    Dom.byId("find-row-field").hidden = examples.length < 2;
    find.addEventListener("input", () => this.list(find.value));
    find.addEventListener("keydown", ({ key }) => { if (key === "Enter" && list.options.length) this.choose(Number(list.value)); });
    list.addEventListener("change", () => this.choose(Number(list.value)));
    Dom.byId("reset").addEventListener("click", () => this.choose(Number(list.value)));
    this.list("");
  }

  typicalText(data) {
    if (!data || data.typical === null) return "the baseline (medians)";
    return `the typical row (${data.examples[data.typical].name})`;
  }

  list(wanted) {
    const text = wanted.trim().toLowerCase(), before = Dom.byId("example").value;
    const found = [...this.texts.keys()].filter((i) => this.texts[i].toLowerCase().includes(text));
    Dom.fill(Dom.byId("example"), ...found.map((i) => Dom.make("option", { value: i }, Dom.short(this.texts[i], 60))));
    if (found.includes(Number(before)) && before !== "") Dom.byId("example").value = before;
    Dom.byId("rows-found").textContent = text ? `${Dom.number(found.length)} of ${Dom.number(this.texts.length)} rows found; Enter takes the first` : "";
  }

  choose(i) {
    Dom.byId("example").value = String(i);
    this.app.set(this.cells[i]);
  }
}
