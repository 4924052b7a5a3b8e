// Plotly charts: each function takes numbers and names and draws into one element.

const Charts = (() => {
  const CONFIG = { displayModeBar: false };
  const PAPER = { wide: 660, narrow: 300 }; // pixels on a page of A4 or letter size

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    return Object.fromEntries(["ink", "soft", "grid", "line", "accent", "mark", "band", "card"].map((name) => [name, read(name)]));
  }

  const axis = (c, extra) => ({ gridcolor: c.grid, zerolinecolor: c.line, linecolor: c.line, fixedrange: true, ...extra });

  function layout(c, height, extra) {
    return {
      height,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: c.ink, size: 12, family: "system-ui, sans-serif" },
      margin: { l: 50, r: 16, t: 8, b: 36 },
      showlegend: false,
      hovermode: "closest",
      ...extra,
    };
  }

  function draw(element, traces, shape) {
    element.setAttribute("role", "img");
    const paper = "paper" in document.documentElement.dataset;
    const width = paper ? (element.closest(".effect") ? PAPER.narrow : PAPER.wide) : element.clientWidth;
    Plotly.react(element, traces, { width, ...shape }, CONFIG);
  }

  const room = (element, longest) => Math.min(Math.max(60, 9 + 7.2 * longest), 0.42 * (element.clientWidth || 400));

  // Horizontal bars from the first name at the top to the last, with a text for each.
  function bars(element, names, values, texts, title, extra = {}) {
    const c = colours();
    const longest = Math.max(...names.map((name) => Dom.short(name, 22).length));
    const trace = {
      type: "bar",
      orientation: "h",
      y: names.map((_, i) => i),
      x: values,
      marker: { color: values.map((value) => (value < 0 ? c.mark : c.accent)) },
      hovertext: names.map((name, i) => `${Dom.plain(name)}: ${Dom.plain(texts[i])}`),
      hoverinfo: "text",
    };
    const y = axis(c, { autorange: "reversed", tickvals: trace.y, ticktext: names.map((name) => Dom.label(name, 22)), showgrid: false, zeroline: false });
    const margin = { l: room(element, longest), r: 16, t: 4, b: 40 };
    const x = axis(c, { title: { text: Dom.plain(title), font: { size: 12 } }, zerolinewidth: 2, nticks: element.clientWidth < 420 ? 4 : 6, tickangle: 0, ...extra });
    element.setAttribute("aria-label", names.map((name, i) => `${name}: ${texts[i]}`).join("; "));
    draw(element, [trace], layout(c, 60 + 22 * names.length, { xaxis: x, yaxis: y, margin, bargap: 0.3 }));
  }

  // Quantiles as a fan on one line; the axis only ever widens, so that movement is seen.
  function fan(element, names, values, title, span) {
    const c = colours();
    const traces = values.slice(0, values.length >> 1).map((low, i) => ({
      type: "scatter", mode: "lines", x: [low, values[values.length - 1 - i]], y: [0, 0], hoverinfo: "skip",
      line: { color: c.accent, width: 8 + 10 * i }, opacity: 0.35,
    }));
    traces.push({
      type: "scatter", mode: "markers", x: values, y: values.map(() => 0), hoverinfo: "text",
      hovertext: names.map((name, i) => `${Dom.plain(name)}: ${Dom.number(values[i])}`),
      marker: { color: c.ink, size: 9, symbol: "line-ns-open", line: { width: 2 } },
    });
    const x = axis(c, { range: span, title: { text: Dom.plain(title), font: { size: 12 } } });
    const y = axis(c, { visible: false, range: [-1, 1] });
    element.setAttribute("aria-label", names.map((name, i) => `${name}: ${Dom.number(values[i])}`).join("; "));
    draw(element, traces, layout(c, 110, { xaxis: x, yaxis: y, margin: { l: 16, r: 16, t: 4, b: 40 } }));
  }

  // Eigenvalues on a line; the one that is read stands out.
  function spectrum(element, values, index) {
    const c = colours();
    const at = (own) => ({ type: "scatter", x: own, y: own.map(() => 0), hoverinfo: "x" });
    const others = Array.from(values).filter((_, k) => k !== index);
    const traces = [
      { ...at(others), mode: "markers", marker: { symbol: "line-ns-open", size: 16, color: c.soft, line: { width: 2 } } },
      {
        ...at([values[index]]), mode: "markers+text", text: [`λ<sub>${index + 1}</sub>`], textposition: "top center",
        marker: { symbol: "diamond", size: 13, color: c.mark },
      },
    ];
    const x = axis(c, { title: { text: "eigenvalue", font: { size: 12 } } });
    const y = axis(c, { visible: false, range: [-1, 1.6] });
    element.setAttribute("aria-label", `${values.length} eigenvalues; number ${index + 1} is read: ${Dom.number(values[index])}`);
    draw(element, traces, layout(c, 120, { xaxis: x, yaxis: y, margin: { l: 16, r: 16, t: 4, b: 40 } }));
  }

  // A curve with its proven band and the position of the row.
  function curve(element, { x, seen, low, high, here, name, range: span }) {
    const c = colours();
    const edge = { type: "scatter", mode: "lines", line: { width: 0 }, hoverinfo: "skip" };
    const traces = [
      { ...edge, x, y: low },
      { ...edge, x, y: high, fill: "tonexty", fillcolor: c.band },
      { type: "scatter", mode: "lines", x, y: seen, line: { color: c.accent, width: 2 }, hoverinfo: "x+y" },
    ];
    if (here) traces.push(dot(c, here));
    element.setAttribute("aria-label", `Effect of ${name}: from ${Dom.number(Math.min(...seen))} to ${Dom.number(Math.max(...seen))}`);
    const axes = { xaxis: axis(c, { nticks: 6, hoverformat: ".4~g" }), yaxis: axis(c, { nticks: 6, range: span, hoverformat: ".4~g" }) };
    draw(element, traces, layout(c, 200, axes));
  }

  const dot = (c, [x, y]) => ({
    type: "scatter", mode: "markers", x: [x], y: [y], hoverinfo: "skip",
    marker: { color: c.mark, size: 10, line: { color: c.card, width: 2 } },
  });

  // Levels as points with their proven bands.
  function levels(element, { texts, seen, low, high, here, name, range: span }) {
    const c = colours();
    const x = texts.map((_, i) => i);
    const trace = {
      type: "scatter", mode: "markers", x, y: seen, hoverinfo: "text", marker: { color: c.accent, size: 9 },
      hovertext: texts.map((text, i) => `${Dom.plain(text)}: ${Dom.number(seen[i])}`),
      error_y: {
        type: "data", symmetric: false, color: c.band, thickness: 9, width: 0,
        array: high.map((end, i) => end - seen[i]), arrayminus: low.map((end, i) => seen[i] - end),
      },
    };
    const few = texts.length <= 12 ? x : [];
    const flat = texts.reduce((sum, text) => sum + Math.min(text.length, 10) + 2, 0) < 36;
    const ticks = { tickvals: few, ticktext: few.map((i) => Dom.label(texts[i], 10)), tickangle: flat ? 0 : -30, range: [-0.5, texts.length - 0.5] };
    element.setAttribute("aria-label", `Effect of ${name}: ` + texts.map((text, i) => `${text} ${Dom.number(seen[i])}`).join("; "));
    const axes = { xaxis: axis(c, { ...ticks, zeroline: false, showgrid: false }), yaxis: axis(c, { nticks: 6, range: span }) };
    draw(element, here ? [trace, dot(c, here)] : [trace], layout(c, 200, { ...axes, margin: { l: 50, r: 16, t: 8, b: 50 } }));
  }

  // A symmetric matrix, from blue (negative) over the paper's colour to orange (positive).
  function heat(element, packed, d, name) {
    const c = colours();
    const z = Array.from({ length: d }, () => new Array(d));
    for (let i = 0, k = 0; i < d; i++) {
      for (let j = 0; j <= i; j++, k++) z[i][j] = z[j][i] = i === j ? packed[k] : packed[k] * Math.SQRT1_2;
    }
    const trace = {
      type: "heatmap", z, zmid: 0, hoverinfo: "z", xgap: 1, ygap: 1,
      colorscale: [[0, "#0072b2"], [0.5, c.card], [1, "#d55e00"]], colorbar: { thickness: 12, outlinewidth: 0 },
    };
    const width = Math.min(element.clientWidth, 520);
    const x = axis(c, { visible: false, constrain: "domain" });
    const y = axis(c, { visible: false, autorange: "reversed", scaleanchor: "x" });
    element.setAttribute("aria-label", `Matrix of ${name}, ${d} rows and columns`);
    draw(element, [trace], layout(c, width - 60, { xaxis: x, yaxis: y, width, margin: { l: 8, r: 8, t: 8, b: 8 } }));
  }

  return { bars, fan, spectrum, curve, levels, heat };
})();
