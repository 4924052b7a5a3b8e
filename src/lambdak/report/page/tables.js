// What does not change with the row: the header, guarantees, data, metrics and the words for them.

const Tables = (() => {
  const { make, fill, byId, number, percent } = Dom;

  // A table that a narrow screen shows as a stack of cells, each below its head; the roles keep it a table to a reader.
  function table(name, heads, rows) {
    const head = make("tr", { role: "row" }, ...heads.map((text) => make("th", { scope: "col", role: "columnheader" }, text)));
    for (const row of rows) {
      row.setAttribute("role", "row");
      [...row.cells].forEach((cell, i) => {
        cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "cell");
        cell.setAttribute("data-head", heads[i]);
      });
    }
    const parts = [make("thead", { role: "rowgroup" }, head), make("tbody", { role: "rowgroup" }, ...rows)];
    return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, make("table", { role: "table" }, ...parts));
  }

  const first = (text) => make("th", { scope: "row", title: text }, Dom.short(text, 60));
  const words = (text) => make("td", { class: "words" }, text);
  const value = (text) => make("td", { class: "value" }, text);

  function about({ about, data }, model) {
    const kinds = model.columns.length === 1 ? "1 column" : `${model.columns.length} columns`;
    const members = model.members === 1 ? "" : `the mean of ${model.members} members, each `;
    const rows = data ? ` Data shown here: ${data.rows} rows.` : "";
    byId("about").textContent =
      `A ${about.estimator} of ${kinds}: ${members}one eigenvalue of a symmetric ${model.dim} × ${model.dim} matrix ` +
      `(loss: ${about.loss}). The model runs inside of this page, in your browser; nothing is sent anywhere.${rows}`;
    byId("footer").textContent = `Written by lambdak ${about.version}. All numbers are computed in double precision.`;
  }

  function certificate(found) {
    if (!found) {
      fill(byId("certificate-body"), make("p", { class: "note" }, "No certificate was included in this report."));
      return;
    }
    const claims = [...found.claims].sort((a, b) => b.held - a.held);
    const rows = claims.map((claim) =>
      make("tr", {},
        make("td", { class: claim.held ? "held" : "broken" }, claim.held ? "✓ holds" : "✗ does not hold"),
        first(claim.subject), words(claim.statement), value(number(claim.value)), value(number(claim.margin, 2)), words(claim.how))
    );
    const held = claims.filter((claim) => claim.held).length;
    const broken = held < claims.length ? `, ${claims.length - held} do not` : "";
    fill(byId("certificate-body"),
      make("p", {}, `${held} of ${claims.length} claims hold${broken}. They are checked from the matrices of the model: a claim that holds is true for every possible row, not only for the rows of a data set.`),
      table("Claims", ["verdict", "about", "claim", "number", "rounding margin", "how it was checked"], rows));
  }

  function data({ data: found, metrics, columns }) {
    if (!found) {
      fill(byId("data-body"), make("p", { class: "note" }, "This report was written without data."));
      return;
    }
    const rows = found.summary.map((own, i) =>
      make("tr", {}, first(columns[i].name), value(own.missing ? percent(own.missing) : "none"), words(content(own)), make("td", {}, histogram(own.bins)))
    );
    fill(byId("data-body"), ...quality(metrics, found.rows), make("h3", {}, `Columns (${found.rows} rows)`),
      table("Columns", ["column", "missing", "content", "spread"], rows));
  }

  function content(own) {
    if (own.top) {
      const rest = own.distinct > own.top.length ? `, … (${own.distinct} levels)` : "";
      return own.top.map(({ level, share }) => `${Dom.short(level, 40)} ${percent(share)}`).join(", ") + rest;
    }
    return own.low === undefined ? "–" : `${number(own.low)} to ${number(own.high)}, median ${number(own.median)}`;
  }

  // Counts as small bars.
  function histogram(bins) {
    if (!bins) return "";
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const set = (element, attributes) => Object.entries(attributes).forEach(([name, own]) => element.setAttribute(name, own));
    set(svg, { width: 100, height: 24, viewBox: "0 0 100 24", class: "bars", role: "img", "aria-label": "histogram" });
    const most = Math.max(...bins, 1), width = 100 / Math.max(bins.length, 4);
    bins.forEach((count, i) => {
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      const height = count ? Math.max((24 * count) / most, 1) : 0;
      set(bar, { x: i * width, y: 24 - height, width: width * 0.85, height, fill: "currentColor" });
      svg.append(bar);
    });
    return svg;
  }

  function quality(metrics, rows) {
    if (!metrics) return [];
    const lines = metrics.map((metric) => make("tr", {}, first(metric.name), value(number(metric.value, 4)), words(metric.meaning)));
    const caveat = `Measured on the ${rows} rows given to this report. If the model was fitted to them, it will do worse on new rows.`;
    return [make("h3", {}, "How well it does"), make("p", { class: "note" }, caveat), table("Measures", ["measure", "value", "meaning"], lines)];
  }

  // Changes and slopes of the columns at the present row.
  function slopes(names, found) {
    const rows = found.map(({ change, slope }, i) =>
      make("tr", {}, first(names[i]), value(Dom.signed(change)), value(slope ? Dom.range(slope) : "–"))
    );
    fill(byId("slopes-body"), table("Slopes", ["column", "change", "slope per unit"], rows));
  }

  const WORDS = [
    ["Score", "What the model computes. It is the prediction itself, or its logarithm (for losses with a log link), or log-odds (for classes). Influences and bounds are in units of the score."],
    ["Eigenvalue, matrix, member", "Every column of the table contributes a symmetric matrix that depends on its value. The matrices are added up, and the score is read from one eigenvalue of the sum. Several such models (members) are averaged."],
    ["Influence", "How the score changes at this row when this column alone rises by a tenth of its training range, with its sign; where there is no room above, when it falls, with the sign turned. For a level or a missing value: the score minus that with the average level or the median."],
    ["Slope", "How fast the score changes with a column at this very row, per unit of the column; at a knot, where two pieces meet, to its right. A steep piece may be short: the slope tells nothing about values further away."],
    ["Proven", "True for every value in the stated range, by a property of eigenvalues (Weyl's inequality), not by trying values out. Rounding errors are allowed for."],
    ["Band", "Over the range that is drawn, nothing that the other columns do can let this column move the score out of its band, seen from where the row is now."],
    ["Gap", "Distance of the eigenvalue that is read to its nearest neighbour. Where it is zero, a slope is not one number, and proven bounds on it are told instead."],
  ];

  function glossary() {
    fill(byId("glossary"), ...WORDS.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
  }

  return { about, certificate, data, slopes, glossary };
})();
