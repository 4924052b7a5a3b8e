// Elements, numbers and names: whatever comes from a table enters the page as text only.

const Dom = (() => {
  const byId = (id) => document.getElementById(id);

  // An element with attributes and children; strings become text, never markup.
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  function fill(parent, ...children) {
    parent.replaceChildren(...children.filter((child) => child !== null));
  }

  // Plotly reads a little HTML in its labels; this leaves none.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function short(text, length) {
    const signs = Array.from(String(text));
    return signs.length > length ? signs.slice(0, length - 1).join("") + "…" : String(text);
  }

  const label = (text, length = 24) => plain(short(text, length));

  function number(x, digits = 5) {
    if (x === null || x === undefined || Number.isNaN(x)) return "–";
    if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
    const text = Number(x.toPrecision(digits)).toString();
    return text.replace(/-/g, "−");
  }

  const signed = (x, digits = 4) => (x > 0 ? "+" : "") + number(x, digits);
  const percent = (x) => number(100 * x, 3) + " %";

  return { byId, make, fill, plain, short, label, number, signed, percent };
})();
