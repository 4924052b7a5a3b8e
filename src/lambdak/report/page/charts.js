// Charts of one row and of lists of columns: bars, steps, quantiles, eigenvalues.

const Charts = (() => {
  const BAR = 24; // pixels of a line
  const { make, text } = Svg;

  const room = (width, names) => Math.min(Math.max(50, 12 + Math.max(...names.map((name) => Svg.measured(Dom.short(name, 30))))), 0.42 * width);

  // A name and the cell that it may end with, of which the name is shortened first.
  function shortened(name, most) {
    const [head, ...rest] = name.split(" = "), cell = rest.length ? ` = ${rest.join(" = ")}` : "";
    return Dom.short(Dom.short(head, Math.max(most - cell.length, 4)) + cell, most);
  }

  function label(svg, name, left, y) {
    svg.append(text(Svg.fitting(name, left - 8, shortened), left - 6, y + 4, { class: "name-text", "text-anchor": "end", "data-tip": name }));
  }

  // Horizontal bars from the first name at the top to the last, with a text for each.
  function bars(element, names, values, texts, title, { range = null, shown = texts } = {}) {
    const spoken = `${title}: ${names.map((name, i) => `${name}: ${texts[i]}`).join("; ")}`;
    const { svg, width } = Svg.picture(element, BAR * names.length + 26, spoken, { names, values, texts });
    const left = room(width, names), wide = Math.max(...shown.map(Svg.long)) + 8;
    const [low, high] = range ?? [Math.min(0, ...values), Math.max(0, ...values)];
    const negative = low < 0 ? wide : 0, x = Svg.scale([low, high === low ? low + 1 : high], [left + negative, width - wide]);
    names.forEach((name, i) => {
      const middle = BAR * i + BAR / 2, from = Math.min(x(0), x(values[i])), size = Math.abs(x(values[i]) - x(0));
      label(svg, name, left, middle);
      svg.append(make("rect", { class: values[i] < 0 ? "bar negative" : "bar", x: from, y: middle - 7, width: Math.max(size, 1), height: 14, "data-tip": `${name}: ${texts[i]}` }));
      const end = values[i] < 0 ? from - 4 : from + size + 4;
      svg.append(text(shown[i], end, middle + 4, { class: "value-text", "text-anchor": values[i] < 0 ? "end" : "start" }));
    });
    svg.append(make("line", { class: "base", x1: x(0), x2: x(0), y1: 0, y2: BAR * names.length }));
    svg.append(text(title, (left + width) / 2, BAR * names.length + 18, { class: "axis", "text-anchor": "middle" }));
  }

  // Two sizes of each column side by side, each on a scale of its own.
  function paired(element, names, sides) {
    const spoken = names.map((name, i) => `${name}: ${sides.map(({ title, texts }) => `${title} ${texts[i]}`).join(", ")}`).join("; ");
    const { svg, width } = Svg.picture(element, BAR * names.length + 26, spoken, { names, sides });
    const left = room(width, names), part = (width - left) / sides.length;
    names.forEach((name, i) => label(svg, name, left, BAR * i + 22 + BAR / 2));
    sides.forEach(({ title, values, texts }, s) => {
      const start = left + s * part, wide = Math.max(...texts.map(Svg.long)) + 10;
      const x = Svg.scale([0, Math.max(...values) || 1], [0, part - wide]);
      svg.append(text(Dom.short(title, Math.floor(part / Svg.long("m"))), start, 13, { class: "axis strong" }));
      values.forEach((value, i) => {
        const middle = BAR * i + 22 + BAR / 2;
        svg.append(make("rect", { class: s ? "bar second" : "bar", x: start, y: middle - 7, width: Math.max(x(value), 1), height: 14, "data-tip": `${names[i]}: ${texts[i]}` }));
        svg.append(text(texts[i], start + x(value) + 4, middle + 4, { class: "value-text" }));
      });
    });
  }

  // From one number to another in steps, the largest first.
  function waterfall(element, { start, end, names, steps, texts, title }) {
    const spoken = `${title}. ${start.text}; ${names.map((name, i) => `${name}: ${texts[i]}`).join("; ")}; ${end.text}`;
    const { svg, width } = Svg.picture(element, BAR * (names.length + 2) + 24, spoken, { start, end, names, steps, texts });
    const left = room(width, [...names, start.name, end.name]), wide = Math.max(...texts.map(Svg.long)) + 8;
    const ends = steps.reduce((all, step) => [...all, all.at(-1) + step], [start.value]);
    const [low, high] = Svg.span([...ends, end.value]), x = Svg.scale([low, high], [left + wide, width - wide]);
    const line = (i) => BAR * i + BAR / 2;
    const mark = ({ name, value, text: words }, i) => {
      label(svg, name, left, line(i));
      svg.append(make("circle", { class: "point", cx: x(value), cy: line(i), r: 5, "data-tip": `${name}: ${words}` }));
      const late = x(value) > (left + width) / 2;
      svg.append(text(words, x(value) + (late ? -9 : 9), line(i) + 4, { class: "value-text strong", "text-anchor": late ? "end" : "start" }));
    };
    mark(start, 0);
    steps.forEach((step, i) => {
      const from = x(ends[i]), to = x(ends[i + 1]), middle = line(i + 1);
      label(svg, names[i], left, middle);
      svg.append(make("line", { class: "link", x1: from, x2: from, y1: middle - BAR + 7, y2: middle + 7 }));
      svg.append(make("rect", { class: step < 0 ? "bar negative" : "bar", x: Math.min(from, to), y: middle - 7, width: Math.max(Math.abs(to - from), 1), height: 14, "data-tip": `${names[i]}: ${texts[i]}` }));
      svg.append(text(texts[i], step < 0 ? Math.min(from, to) - 4 : Math.max(from, to) + 4, middle + 4, { class: "value-text", "text-anchor": step < 0 ? "end" : "start" }));
    });
    mark(end, names.length + 1);
    svg.append(text(title, (left + width) / 2, BAR * (names.length + 2) + 16, { class: "axis", "text-anchor": "middle" }));
  }

  // Quantiles as a fan on one line; the range only ever widens, so that movement is seen.
  function fan(element, names, values, title, range) {
    const { svg, width } = Svg.picture(element, 84, names.map((name, i) => `${name}: ${Dom.number(values[i])}`).join("; "), { names, values });
    const x = Svg.scale(range, [12, width - 12]);
    values.slice(0, values.length >> 1).forEach((low, i) => {
      const to = x(values[values.length - 1 - i]), tall = 10 + 8 * i;
      svg.append(make("rect", { class: "band", x: x(low), y: 26 - tall / 2, width: Math.max(to - x(low), 1), height: tall }));
    });
    values.forEach((value, i) => svg.append(make("rect", { class: "quantile", x: x(value) - 1.5, y: 13, width: 3, height: 26, "data-tip": `${names[i]}: ${Dom.number(value)}` })));
    for (const t of Svg.ticks(...range, Math.max(2, Math.floor(width / 90)))) svg.append(text(Dom.number(t), x(t), 58, { class: "axis", "text-anchor": "middle" }));
    svg.append(text(title, width / 2, 78, { class: "axis", "text-anchor": "middle" }));
  }

  // Eigenvalues on a line; the one that is read stands out.
  function spectrum(element, values, index) {
    const spoken = `${values.length} eigenvalues; number ${index + 1} is read: ${Dom.number(values[index])}`;
    const { svg, width } = Svg.picture(element, 92, spoken, { values, index });
    const range = Svg.span(Array.from(values), 0.05), x = Svg.scale(range, [12, width - 12]);
    values.forEach((value, k) => svg.append(make("rect", { class: k === index ? "bar negative" : "quantile", x: x(value) - (k === index ? 3 : 1), y: 24, width: k === index ? 6 : 2, height: 24, "data-tip": Dom.number(value) })));
    svg.append(text(`λ${index + 1}`, x(values[index]), 18, { class: "value-text strong", "text-anchor": "middle" }));
    for (const t of Svg.ticks(...range, Math.max(2, Math.floor(width / 90)))) svg.append(text(Dom.number(t), x(t), 66, { class: "axis", "text-anchor": "middle" }));
    svg.append(text("eigenvalue", width / 2, 86, { class: "axis", "text-anchor": "middle" }));
  }

  return { bars, paired, waterfall, fan, spectrum };
})();
