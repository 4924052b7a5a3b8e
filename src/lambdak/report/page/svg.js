// Pictures as SVG: elements, scales with round ticks, and a text for whatever is pointed at. Colours are those of the style
// sheet, so that dark screens and paper need no other picture.

const Svg = (() => {
  const SPACE = "http://www.w3.org/2000/svg";
  const PAPER = { wide: 660, narrow: 300 }; // pixels on a page of A4 or letter size
  const LETTER = 7.1; // pixels of a usual letter

  function make(tag, attributes = {}, ...children) {
    const element = document.createElementNS(SPACE, tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const text = (words, x, y, attributes = {}) => make("text", { x, y, ...attributes }, words);

  // From numbers to pixels; all is in the middle where there is only one number.
  function scale([from, to], [start, end]) {
    const step = (end - start) / (to - from);
    return Number.isFinite(step) ? (x) => start + (x - from) * step : () => (start + end) / 2;
  }

  // About `count` round numbers between two.
  function ticks(low, high, count) {
    if (!(high > low)) return [low];
    const rough = (high - low) / Math.max(count, 1), unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * [1, 2, 2.5, 5, 10].find((own) => own * unit >= rough), found = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  // The ends of some numbers, with room on both sides.
  function span(values, room = 0) {
    const known = values.filter(Number.isFinite);
    const low = Math.min(...known), high = Math.max(...known), pad = room * (high - low) || (high === low ? Math.abs(low) / 10 || 1 : 0);
    return known.length ? [low - pad, high + pad] : [0, 1];
  }

  function widthOf(element) {
    if (!("paper" in document.documentElement.dataset)) return element.clientWidth || 320;
    return element.closest(".grid") ? PAPER.narrow : PAPER.wide;
  }

  // A new picture in an element: its label is what a screen reader says, `drawn` what it was made from.
  function picture(element, height, label, drawn) {
    const width = widthOf(element);
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
    element.replaceChildren(svg);
    element.drawn = drawn;
    return { svg, width, height };
  }

  const long = (words) => LETTER * Array.from(words).length;

  // The width of words as they are drawn, and as many of them as fit into a width: capitals are wider than usual letters.
  const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'; // that of the style sheet
  const ruler = document.createElement("canvas").getContext("2d");

  function measured(words) {
    ruler.font = FONT;
    return ruler.measureText(words).width;
  }

  function fitting(words, width, shorten = Dom.short) {
    let most = Array.from(words).length;
    while (most > 4 && measured(shorten(words, most)) > width) most--;
    return shorten(words, most);
  }

  // What is pointed at says what it is.
  function listen() {
    const tip = Dom.make("div", { id: "tip", hidden: true, "aria-hidden": "true" });
    document.body.append(tip);
    addEventListener("pointermove", (event) => {
      const words = event.target.closest?.("[data-tip]")?.dataset.tip;
      tip.hidden = !words;
      if (!words) return;
      tip.textContent = words;
      const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - tip.offsetWidth - 6);
      Object.assign(tip.style, { left: `${Math.max(left, 4)}px`, top: `${Math.max(event.clientY - tip.offsetHeight - 10, 4)}px` });
    }, { passive: true });
  }

  return { make, text, scale, ticks, span, picture, long, measured, fitting, listen };
})();
