// Tables: a heading for each column, and rows of cells that are text.

const Tables = (() => {
  const { make } = Dom;

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

  const row = (...cells) => make("tr", {}, ...cells);
  const first = (text) => make("th", { scope: "row", title: text }, Dom.short(text, 60));
  const words = (text) => make("td", { class: "words" }, text);
  const value = (text) => make("td", { class: "value" }, text);

  return { table, row, first, words, value };
})();
