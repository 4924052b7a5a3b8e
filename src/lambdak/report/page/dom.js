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

  // The options of a list, by their position.
  function options(id, texts, chosen = 0) {
    fill(byId(id), ...texts.map((text, value) => make("option", { value, title: text }, short(text, 50))));
    byId(id).value = String(chosen);
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
    const short = Number(x.toPrecision(digits));
    const text = Math.abs(x) < 1e9 ? short.toString() : short.toExponential();
    return text.replace(/-/g, "−");
  }

  // The ends of a proven range, with this many digits, rounded outwards.
  function ends([low, high], digits = 5) {
    const outward = (x, side) => {
      if (!Number.isFinite(x) || x === 0) return x;
      const unit = 10 ** (Math.floor(Math.log10(Math.abs(x))) - digits + 1);
      const near = Number(x.toPrecision(digits));
      return side * (near - x) >= 0 ? near : Number((near + side * unit).toPrecision(digits));
    };
    return `[${number(outward(low, -1), digits)}, ${number(outward(high, 1), digits)}]`;
  }

  const signed = (x, digits = 4) => (x > 0 ? "+" : "") + number(x, digits);
  const range = ([low, high]) => (low === high ? signed(low) : `between ${signed(low)} and ${signed(high)}`);
  const percent = (x) => number(100 * x, 3) + " %";

  return { byId, make, fill, options, plain, short, label, number, ends, signed, range, percent };
})();
