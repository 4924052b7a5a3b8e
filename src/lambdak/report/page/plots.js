// Plots with two axes: effects over the data, how well a model does, and tables of colours.

const Plots = (() => {
  const { make, text } = Svg;
  const COLOURS = 6; // of lines, each with a dash of its own
  const MOST_LEVELS = 9; // of a category in one picture
  const share = { range: [0, 1], count: 5, format: (t) => Dom.percent(t) };

  // The range of a curve with room around it; the proven band may leave it.
  function heights(seen, low, high) {
    const [least, most] = Svg.span(seen, 0.15), all = Svg.span([...low, ...high]);
    const middle = (least + most) / 2, half = Math.max((most - least) / 2, (all[1] - all[0]) / 8);
    return [Math.max(middle - half, Math.min(all[0], least)), Math.min(middle + half, Math.max(all[1], most))];
  }

  // A curve with its proven band, the position of the row, and how many rows of the data are where.
  function curve(element, drawn) {
    const { x, seen, low, high, here, name, range, bins, edges, named, format, scale, whole } = drawn;
    const label = `Effect of ${name}: from ${format(Math.min(...seen))} to ${format(Math.max(...seen))}`;
    const y = { range: range ?? heights(seen, low, high), count: 4, format };
    const field = new Field(element, { label, drawn, x: across(x, scale, whole), y, bottom: bins ? 28 : 0 });
    if (bins) field.rug(bins, edges);
    field.area(x, low, high);
    for (const at of named.filter((cell) => cell > x[0] && cell < x.at(-1))) field.line([at, at], y.range, { class: "diagonal named", "data-tip": `${name} ${Dom.cell(at)}: the promise names it` });
    field.line(x, seen);
    field.strips(x, (i) => `${name} ${Dom.cell(x[i], 4)}: ${format(seen[i])}, proven between ${format(low[i])} and ${format(high[i])}`);
    if (here) field.dot(...here, { class: "point here", r: 5 });
  }

  // An axis for these numbers of a column, compressed where its scale is.
  function across(x, scale, whole) {
    const range = [x[0], x.at(-1)];
    if (!scale || scale.isEven) return { range, whole, format: Dom.cells(...range) };
    return { range, scale, title: "compressed where it is shaded", format: (t) => Dom.cell(t, 6) };
  }

  // Levels as lines from the lowest effect to the highest, each with its proven band and how many rows it has; of many
  // levels those with the most rows.
  function levels(element, drawn) {
    const { texts, seen, low, high, here, name, range, counts, format } = drawn, all = texts.map((_, i) => i);
    const label = `Effect of ${name}: ${texts.map((words, i) => `${words} ${format(seen[i])}`).join("; ")}`;
    const most = counts ? [...all].sort((i, j) => (j === here?.[0]) - (i === here?.[0]) || counts[j] - counts[i]) : all;
    const shown = most.slice(0, MOST_LEVELS).sort((i, j) => seen[i] - seen[j]), hidden = texts.length - shown.length;
    const up = { range: [-0.5, shown.length - 0.5], texts: shown.map((i, n) => [n, Dom.short(texts[i], 16)]) };
    const across = { range: range ?? heights(shown.map((i) => seen[i]), shown.map((i) => low[i]), shown.map((i) => high[i])), format };
    const field = new Field(element, { label, drawn, x: { ...across, title: hidden ? `${hidden} other levels are not drawn` : null }, y: up });
    const { left, right } = field.box, tall = (field.y(0) - field.y(1)) || 40, top = Math.max(...shown.map((i) => counts?.[i] ?? 0), 1);
    shown.forEach((i, n) => {
      const y = field.y(n), thick = Math.min(12, 0.5 * tall), from = Math.max(field.x(low[i]), left);
      field.add("rect", { class: "band", x: from, width: Math.max(field.x(high[i]) - from, 1), y: y - thick / 2, height: thick });
      if (counts) field.add("rect", { class: "rug", x: left, width: ((right - left) / 4) * (counts[i] / top), y: y + thick / 2, height: 3 });
      field.dot(seen[i], n, i === here?.[0] ? { class: "point here", r: 5 } : {});
      field.add("rect", { class: "hit", x: left, width: right - left, y: y - tall / 2, height: tall, "data-tip": `${texts[i]}: ${format(seen[i])}${counts ? `, ${Dom.number(counts[i])} rows` : ""}` });
    });
  }

  // Lines over shares, with the diagonal: {name, x, y, text}.
  function shares(element, lines, titles) {
    const label = `${titles[2]}: ${lines.map(({ name, text: words }) => `${name} ${words}`).join("; ")}`;
    const field = new Field(element, { height: 300, label, drawn: { lines }, x: { ...share, title: titles[0] }, y: { ...share, title: titles[1] } });
    field.line([0, 1], [0, 1], { class: "diagonal" });
    lines.forEach(({ name, x, y, text: words }, i) => field.line(x, y, { class: `line c${i % COLOURS}`, "data-tip": `${name}: ${words}` }));
    const longest = Math.max(0, ...lines.slice(0, COLOURS).map(({ name, text: words }) => Svg.long(Dom.short(`${name}: ${words}`, 30))));
    lines.slice(0, COLOURS).forEach(({ name, text: words }, i) => {
      const top = field.box.bottom - 12 - 17 * (Math.min(lines.length, COLOURS) - 1 - i), left = Math.max(field.box.right - 34 - longest, field.box.left + 8);
      field.add("path", { class: `line c${i}`, d: `M${left} ${top - 4}h22` });
      field.inside.append(text(Dom.short(`${name}: ${words}`, 30), left + 28, top, { class: "value-text" }));
    });
  }

  // Predicted against observed in bins, with intervals and the diagonal.
  function calibration(element, { predicted, observed, low, high, rows }, titles, format, shares = false) {
    const range = shares ? [0, 1] : Svg.span([...predicted, ...observed, ...low, ...high], 0.04);
    const axis = { range, format, count: 4 }, label = `${titles[2]}: ${predicted.map((p, i) => `predicted ${format(p)}, observed ${format(observed[i])}`).join("; ")}`;
    const field = new Field(element, { height: 300, label, drawn: { predicted, observed }, x: { ...axis, title: titles[0] }, y: { ...axis, title: titles[1] } });
    field.line(range, range, { class: "diagonal" });
    predicted.forEach((p, i) => {
      if (low[i] !== null && high[i] !== null) field.add("path", { class: "whisker", d: `M${field.x(p)} ${field.y(Math.max(low[i], range[0]))}V${field.y(Math.min(high[i], range[1]))}` });
      field.dot(p, observed[i], { r: 5, "data-tip": `${Dom.number(rows[i])} rows: predicted ${format(p)}, observed ${format(observed[i])}` });
    });
  }

  // Points; `level` draws the diagonal (false) or zero (true).
  function scatter(element, xs, ys, titles, format, level) {
    const both = Svg.span([...xs, ...ys], 0.04), x = level ? Svg.span(xs, 0.04) : both, y = level ? Svg.span([...ys, 0], 0.04) : both;
    const field = new Field(element, { height: 300, label: `${titles[2]}, ${xs.length} points`, drawn: { xs, ys }, x: { range: x, title: titles[0], format }, y: { range: y, title: titles[1], format } });
    field.line(x, level ? [0, 0] : x, { class: "diagonal" });
    xs.forEach((at, i) => field.dot(at, ys[i], { class: "point faint", r: 3, "data-tip": `${titles[0]} ${format(at)}, ${titles[1]} ${format(ys[i])}` }));
  }

  // The curves of several models along one column, or their points at its levels.
  function both(element, { name, values, texts, lines, format, scale }) {
    const label = `Effect of ${name}: ${lines.map((own) => `${own.name} from ${format(own.y[0])} to ${format(own.y.at(-1))}`).join("; ")}`;
    const x = texts ? { range: [-0.5, texts.length - 0.5], texts: texts.slice(0, 14).map((words, i) => [i, Dom.short(words, 10)]), tilted: texts.length > 3 } : across(values, scale);
    const field = new Field(element, { label, drawn: { values, lines }, x, y: { range: Svg.span(lines.flatMap(({ y }) => y), 0.08), count: 4, format } });
    lines.forEach(({ y }, s) => {
      if (!texts) field.line(values, y, { class: `line c${s}` });
      else y.forEach((value, i) => field.dot(i + (s - 0.5) / 5, value, { class: `point k${s}` }));
    });
    field.strips(values, (i) => `${texts ? texts[i] : `${name} ${Dom.cell(values[i], 4)}`}: ${lines.map((own) => `${own.name} ${format(own.y[i])}`).join(", ")}`);
  }

  const TILTED = 88; // pixels of a name that is tilted below cells

  // Cells whose colour says how large they are: blue is positive, orange negative; `pick` is called with a cell.
  function heat(element, { values, label, tip, names = null, height = null, most = null, pick = null, chosen = null, drawn = {} }) {
    const many = values.length, wide = values[0].length, texts = names ?? [];
    const width = element.clientWidth || 400, left = texts.length ? Math.min(0.36 * width, 12 + Math.max(...texts.map(Svg.measured))) : 0;
    const below = texts.length ? 94 : 4, tall = height ?? Math.min((width - left) * (many / wide), 520) + below;
    const { svg } = Svg.picture(element, tall, label, { values, ...drawn });
    const w = (svg.viewBox.baseVal.width - left - 2) / wide, h = (tall - below) / many;
    const size = most ?? Math.max(...values.flat().filter(Number.isFinite).map(Math.abs), 0);
    values.forEach((row, i) => row.forEach((value, j) => {
      if (value === null) return;
      const cell = make("rect", { class: `${value < 0 ? "cell negative" : "cell"}${chosen && chosen[0] === i && chosen[1] === j ? " chosen" : ""}`, x: left + j * w + 0.5, y: i * h + 0.5, width: Math.max(w - 1, 0.5), height: Math.max(h - 1, 0.5), "fill-opacity": size ? Math.abs(value) / size : 0, "data-tip": tip(i, j) });
      if (pick) cell.addEventListener("click", () => pick(i, j));
      svg.append(cell);
    }));
    texts.forEach((name, i) => {
      const words = Svg.fitting(name, left - 8), place = left + (i + 0.5) * w;
      svg.append(text(words, left - 6, (i + 0.5) * h + 4, { class: "name-text", "text-anchor": "end", "data-tip": name }));
      svg.append(text(Svg.fitting(name, TILTED), place, tall - below + 12, { class: "name-text", "text-anchor": "end", transform: `rotate(-55 ${place} ${tall - below + 12})`, "data-tip": name }));
    });
  }

  // The prediction over two columns; `axes` are their {title, texts: [[position, text], …]}.
  function surface(element, values, [across, up], here, format, title) {
    const known = values.flat(), [low, high] = Svg.span(known), n = values.length, m = values[0].length;
    const field = new Field(element, { height: 320, label: `${title}: from ${format(low)} to ${format(high)}`, drawn: { values }, x: { range: [-0.5, m - 0.5], ...across }, y: { range: [-0.5, n - 0.5], ...up } });
    const w = field.x(1) - field.x(0), h = field.y(0) - field.y(1);
    values.forEach((row, i) => row.forEach((value, j) => field.add("rect", {
      class: "cell", x: field.x(j - 0.5), y: field.y(i + 0.5), width: w + 0.3, height: h + 0.3, "fill-opacity": high > low ? 0.04 + 0.96 * (value - low) / (high - low) : 0.5,
      "data-tip": `${across.title} ${across.cell(j)}, ${up.title} ${up.cell(i)}: ${format(value)}`,
    })));
    if (here) field.dot(...here, { class: "point here", r: 6 });
  }

  return { curve, levels, shares, calibration, scatter, both, heat, surface };
})();
