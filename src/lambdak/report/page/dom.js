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

  function short(text, length) {
    const signs = Array.from(String(text));
    return signs.length > length ? signs.slice(0, length - 1).join("") + "…" : String(text);
  }

  const FORMATS = new Map();
  const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const PLAIN = 1e15; // beyond this, and below a ten-thousandth, digits say less than an exponent

  // With separators of thousands, and this many digits behind the point at most.
  function grouped(x, places) {
    if (!FORMATS.has(places)) FORMATS.set(places, new Intl.NumberFormat("en-US", { maximumFractionDigits: places }));
    return FORMATS.get(places).format(x).replace(/^-/, "−");
  }

  function power(x, digits) {
    const [front, exponent] = x.toExponential(digits - 1).split("e");
    const raised = [...exponent.replace("+", "")].map((sign) => (sign === "-" ? "⁻" : RAISED[sign])).join("");
    return `${grouped(Number(front), digits)} × 10${raised}`;
  }

  // A number with a few digits; whole ones are never shortened.
  function number(x, digits = 5) {
    if (x === null || x === undefined || Number.isNaN(x)) return "–";
    if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
    const size = Math.abs(x);
    if (size >= PLAIN || (x !== 0 && size * 10000 < 1)) return power(x, digits);
    return grouped(x, x === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size))));
  }

  // A cell of a column, or a tick of its axis: with separators from five digits on, because 1962 may be a year.
  const cell = (x, digits = 5) => (Math.abs(x) < 1e4 ? number(x, digits).replace(",", "") : number(x, digits));
  const cells = (low, high) => (x) => (Math.max(Math.abs(low), Math.abs(high)) < 1e4 ? cell(x, 6) : number(x, 6));

  // A number with this many digits that is not below (side 1) or not above (−1) another.
  function outward(x, side, digits) {
    if (!Number.isFinite(x) || x === 0) return x;
    const unit = 10 ** (Math.floor(Math.log10(Math.abs(x))) - digits + 1);
    const near = Number(x.toPrecision(digits));
    return side * (near - x) >= 0 ? near : Number((near + side * unit).toPrecision(digits));
  }

  // A proven bound, never smaller than it is, and the ends of a proven range.
  const atMost = (x, digits = 4) => number(outward(x, 1, digits), digits);
  const ends = ([low, high], digits = 5) => `${number(outward(low, -1, digits), digits)} and ${number(outward(high, 1, digits), digits)}`;

  const signed = (x, digits = 4) => (x > 0 ? "+" : "") + number(x, digits);
  const range = ([low, high]) => (low === high ? signed(low) : `between ${signed(low)} and ${signed(high)}`);

  // A share with one digit behind the point; near none and all, with as many as show that it is neither.
  function percent(x) {
    const edge = 100 * Math.min(Math.abs(x), Math.abs(1 - x));
    return (edge > 0 && edge < 1 ? grouped(100 * x, Math.min(1 - Math.floor(Math.log10(edge)), 12)) : grouped(100 * x, 1)) + " %";
  }

  // The ends of a proven range of shares, rounded outwards.
  const percents = ([low, high]) => `${number(outward(100 * low, -1, 3), 3)} % and ${number(outward(100 * high, 1, 3), 3)} %`;
  const narrow = () => matchMedia("screen and (max-width: 700px)").matches; // as in the style sheet

  return { byId, make, fill, options, short, number, cell, cells, atMost, ends, signed, range, percent, percents, narrow };
})();
