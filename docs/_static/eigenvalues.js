// Eigenvalues of A0 + x A1 while x moves: one figure for each <div class="eigenvalues" data-scene="...">.
// Also opens a folded table whose anchor a link leads to.
"use strict";
(() => {
  // ---- eigenvalues of a small symmetric matrix by Jacobi's rotations, ascending ----------------------------------
  const eigenvalues = (given) => {
    const a = given.map((row) => row.slice());
    const n = a.length;
    for (let sweep = 0; sweep < 30; sweep++) {
      let off = 0;
      for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) off += a[p][q] ** 2;
      if (off < 1e-18) break;
      for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(a, p, q);
    }
    return a.map((row, i) => row[i]).sort((x, y) => x - y);
  };
  const rotate = (a, p, q) => {
    if (Math.abs(a[p][q]) < 1e-15) return;
    const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
    const c = 1 / Math.hypot(t, 1), s = t * c;
    for (let k = 0; k < a.length; k++) {
      [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
    }
    for (let k = 0; k < a.length; k++) {
      [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
    }
  };

  // ---- the scenes --------------------------------------------------------------------------------------------------
  const random = (seed) => () => ((seed = (seed * 1664525 + 1013904223) % 4294967296) / 4294967296) * 2 - 1;
  const symmetric = (n, next, size) => {
    const m = Array.from({ length: n }, () => new Array(n).fill(0));
    for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) m[i][j] = m[j][i] = size * next();
    return m;
  };
  const square = (m) => m.map((row) => m.map((other) => row.reduce((sum, value, k) => sum + value * other[k], 0)));
  const scaled = (m, factor) => m.map((row) => row.map((value) => value * factor));
  const SCENES = {
    free: { chosen: 2, matrices: () => [symmetric(5, random(15), 1.6), symmetric(5, random(34), 0.9)] },
    monotone: { chosen: 2, matrices: () => [symmetric(5, random(7), 1.6), scaled(square(symmetric(5, random(3), 1)), 0.32)] },
    convex: { chosen: 4, matrices: () => [symmetric(5, random(5), 1.2), symmetric(5, random(23), 0.9)] },
    cone: { chosen: 2, cone: true, matrices: () => [symmetric(5, random(15), 1.6), symmetric(5, random(34), 0.9)] },
  };
  const RANGE = 3, STEPS = 120, WIDTH = 640, HEIGHT = 300, EDGE = 30;
  const at = ([first, second], x) => first.map((row, i) => row.map((value, j) => value + x * second[i][j]));

  // ---- drawing -----------------------------------------------------------------------------------------------------
  const element = (name, attributes, parent) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent?.append(made);
    return made;
  };
  const build = (host) => {
    const scene = SCENES[host.dataset.scene];
    const matrices = scene.matrices();
    const grid = Array.from({ length: STEPS + 1 }, (_, i) => -RANGE + (2 * RANGE * i) / STEPS);
    const values = grid.map((x) => eigenvalues(at(matrices, x)));
    const [low, high] = [Math.min(...values.map((v) => v[0])), Math.max(...values.map((v) => v.at(-1)))];
    const px = (x) => EDGE + ((x + RANGE) / (2 * RANGE)) * (WIDTH - 2 * EDGE);
    const py = (y) => HEIGHT - EDGE - ((y - low) / (high - low)) * (HEIGHT - 2 * EDGE);
    const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": host.dataset.label });
    const cone = scene.cone ? element("polygon", { class: "cone" }, svg) : null;
    values[0].forEach((_, k) => {
      const points = grid.map((x, i) => `${px(x).toFixed(1)},${py(values[i][k]).toFixed(1)}`).join(" ");
      element("polyline", { points, class: k === scene.chosen ? "curve chosen" : "curve" }, svg);
      element("text", { x: px(RANGE) + 5, y: py(values.at(-1)[k]) + 4 }, svg).textContent = `λ${"₁₂₃₄₅"[k]}`;
    });
    const line = element("line", { class: "now", y1: EDGE / 2, y2: HEIGHT - EDGE / 2 }, svg);
    const dots = values[0].map((_, k) => element("circle", { r: k === scene.chosen ? 6 : 3.5, class: k === scene.chosen ? "dot chosen" : "dot" }, svg));
    const ends = eigenvalues(matrices[1]);
    const norm = Math.max(Math.abs(ends[0]), Math.abs(ends.at(-1)));
    const show = (x) => {
      const now = eigenvalues(at(matrices, x));
      line.setAttribute("x1", px(x)); line.setAttribute("x2", px(x));
      dots.forEach((dot, k) => { dot.setAttribute("cx", px(x)); dot.setAttribute("cy", py(now[k])); });
      const y = now[scene.chosen], far = 2 * RANGE;
      cone?.setAttribute("points", [[x - far, y - norm * far], [x, y], [x - far, y + norm * far], [x + far, y + norm * far], [x, y], [x + far, y - norm * far]].map(([u, v]) => `${px(u)},${py(v)}`).join(" "));
      return y;
    };
    return { svg, show, chosen: scene.chosen };
  };

  // ---- controls ----------------------------------------------------------------------------------------------------
  const start = (host) => {
    const { svg, show, chosen } = build(host);
    const controls = document.createElement("div");
    controls.className = "controls";
    controls.innerHTML = `<button type="button">Play</button><input type="range" min="${-RANGE}" max="${RANGE}" step="0.01" value="-1" aria-label="value of the column"><output></output>`;
    const [button, slider, output] = controls.children;
    host.prepend(svg, controls);
    const move = (x) => { output.textContent = `x = ${x.toFixed(2)}, λ${"₁₂₃₄₅"[chosen]} = ${show(x).toFixed(2)}`; };
    slider.addEventListener("input", () => { stop(); move(Number(slider.value)); });
    let running = 0, begun = 0;
    const step = (time) => {
      const phase = ((time - begun) / 8000) % 1;
      const x = RANGE * Math.sin(2 * Math.PI * phase) * 0.98;
      slider.value = x; move(x);
      running = requestAnimationFrame(step);
    };
    const stop = () => { cancelAnimationFrame(running); running = 0; button.textContent = "Play"; };
    const play = () => { begun = performance.now() - (Math.asin(Math.max(-1, Math.min(1, slider.value / (RANGE * 0.98)))) / (2 * Math.PI)) * 8000; button.textContent = "Pause"; running = requestAnimationFrame(step); };
    button.addEventListener("click", () => (running ? stop() : play()));
    move(-1);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    let seen = false;  // plays once it is in view, and stops when it leaves
    new IntersectionObserver(([entry]) => { if (entry.isIntersecting && !seen) { seen = true; play(); } else if (!entry.isIntersecting) { stop(); seen = false; } }, { threshold: 0.6 }).observe(host);
  };

  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && (target.closest("details") || target.querySelector("details"));
    if (fold) fold.open = true;
  };
  document.querySelectorAll(".eigenvalues").forEach(start);
  addEventListener("hashchange", unfold);
  unfold();
})();
