// The data that the report was written with: how accurate the model is on them, and each column in a few numbers.

class DataSection extends Section {
  static id = "data";
  static link = "Data";
  static title = "Data";

  constructor(app, body) {
    super(app, body);
    const { data, metrics } = app.payload;
    if (data) Dom.fill(body, ...(metrics ? this.accuracy(metrics, data.rows) : []), ...this.columns(data));
    else Dom.fill(body, Dom.make("p", { class: "note" }, "This report was written without data."));
  }

  accuracy(metrics, rows) {
    const lines = metrics.map(({ name, value, meaning }) => Tables.row(Tables.first(name), Tables.value(Dom.number(value, 4)), Tables.words(meaning)));
    const caveat = `Measured on the ${rows} rows given to this report. If the model was fitted to them, expect it to be less accurate on new rows.`;
    return [Dom.make("h3", {}, "How accurate it is"), Dom.make("p", { class: "note" }, caveat), Tables.table("Measures", ["measure", "value", "meaning"], lines)];
  }

  columns({ rows, summary }) {
    const lines = summary.map((own, i) => Tables.row(
      Tables.first(this.app.model.columns[i].name), Tables.value(own.missing ? Dom.percent(own.missing) : "none"),
      Tables.words(this.content(own)), Dom.make("td", {}, this.histogram(own.bins))));
    return [Dom.make("h3", {}, `Columns (${rows} rows)`), Tables.table("Columns", ["column", "missing", "content", "distribution"], lines)];
  }

  content({ top, distinct, low, median, high }) {
    if (top) {
      const rest = distinct > top.length ? `, … (${distinct} levels)` : "";
      return top.map(({ level, share }) => `${Dom.short(level, 40)} ${Dom.percent(share)}`).join(", ") + rest;
    }
    return low === undefined ? "–" : `${Dom.number(low)} to ${Dom.number(high)}, median ${Dom.number(median)}`;
  }

  // Counts as small bars.
  histogram(bins) {
    if (!bins) return "";
    const make = (tag, attributes) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, own] of Object.entries(attributes)) element.setAttribute(name, own);
      return element;
    };
    const svg = make("svg", { width: 100, height: 24, viewBox: "0 0 100 24", class: "bars", role: "img", "aria-label": "histogram" });
    const most = Math.max(...bins, 1), width = 100 / Math.max(bins.length, 4);
    svg.append(...bins.map((count, i) => {
      const height = count ? Math.max((24 * count) / most, 1) : 0;
      return make("rect", { x: i * width, y: 24 - height, width: width * 0.85, height, fill: "currentColor" });
    }));
    return svg;
  }
}

Section.add(DataSection);
