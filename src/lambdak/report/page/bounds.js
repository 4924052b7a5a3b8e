// What can be proven about a point and about ranges of one column. All numbers are in units of the raw score.

class Bounds {
  constructor(model) {
    this.model = model;
    this.known = new Map();
  }

  // scale Σ_m w_m [λ_min, λ_max] of Σ weight · matrix: how far the score can move, whatever the other columns are.
  reach(block, slots) {
    const { model } = this;
    const ends = model.weights.map((_, m) => {
      const change = model.add(new Float64Array(model.size), block, m, slots);
      return Eigen.values(change, model.dim);
    });
    return [model.mean(ends.map((e) => e[0])), model.mean(ends.map((e) => e[model.dim - 1]))];
  }

  // reach of one step of a column, remembered: from knot j to the next, or one unit of weight of a linear column.
  step(block, i, j) {
    const key = `${block} ${i} ${j}`;
    if (!this.known.has(key)) {
      const { start, kind } = this.model.columns[i];
      const slots = kind === "linear" ? [[start, 1]] : [[start + j, -1], [start + j + 1, 1]];
      this.known.set(key, this.reach(block, slots));
    }
    return this.known.get(key);
  }

  // [lowest, highest] change of the score when a column goes from one cell to another.
  change(block, i, from, to) {
    const column = this.model.columns[i];
    const back = this.model.slots(column, from).map(([id, weight]) => [id, -weight]);
    const [low, high] = this.reach(block, [...back, ...this.model.slots(column, to)]);
    return [low - CONSTANTS.rounding, high + CONSTANTS.rounding];
  }

  // ---- the interval of a what-if ------------------------------------------------------------------------------

  // [lowest, highest] score of an output with column i anywhere in [from, to], all else as in the row.
  whatIf(output, row, i, from, to) {
    const column = this.model.columns[i], category = column.kind === "category";
    const cells = category ? [-1, ...column.levels.keys()] : this.nodes(column, from, to, CONSTANTS.what_if_nodes);
    const scores = this.model.along(output, row, i, cells);
    let low = Math.min(...scores), high = Math.max(...scores);
    for (let n = 0; !category && n + 1 < cells.length; n++) {
      const [fall, rise] = this.between(output.family.block, i, cells[n], cells[n + 1]);
      if (fall >= 0 || rise <= 0) continue; // the score is monotone here
      const first = scores[n], last = scores[n + 1];
      low = Math.min(low, first + (fall * (first - last + rise)) / (rise - fall));
      high = Math.max(high, first + (rise * (last - first - fall)) / (rise - fall));
    }
    return this.widened(output, row, i, cells, [low, high]);
  }

  // reach of A(s1) − A(s0) for two cells on one piece of a column.
  between(block, i, s0, s1) {
    const column = this.model.columns[i], { kind, knots, scale } = column;
    const a = this.model.inside(column, s0), b = this.model.inside(column, s1);
    if (a === b || (kind === "curve" && knots.length < 2)) return [0, 0];
    const j = kind === "linear" ? 0 : this.model.piece(column, a);
    const width = (b - a) / (kind === "linear" ? scale : knots[j + 1] - knots[j]);
    return this.step(block, i, j).map((end) => width * end);
  }

  // Both ends, the knots between them, and enough points in between.
  nodes(column, from, to, count) {
    const corners = [...column.knots, column.low, column.high].filter((x) => x > from && x < to);
    const ends = [...new Set([from, ...corners, to])].sort((x, y) => x - y);
    const most = (to - from) / count;
    return ends.flatMap((x, n) => {
      if (n + 1 === ends.length) return [x];
      const parts = Math.max(1, Math.ceil((ends[n + 1] - x) / most));
      return Array.from({ length: parts }, (_, p) => x + ((ends[n + 1] - x) * p) / parts);
    });
  }

  // Outwards by more than the rounding errors of the eigenvalues, which the norms of the matrices limit.
  widened(output, row, i, cells, scores) {
    const { model } = this, { family } = output;
    const norm = (packed) => Math.sqrt(packed.reduce((sum, x) => sum + x * x, 0));
    const own = (m, cell) =>
      model.slots(model.columns[i], cell).reduce((sum, [id, w]) => sum + Math.abs(w) * norm(model.design(family.block, m, id)), 0);
    const norms = model.weights.map(
      (_, m) => norm(model.matrix(family, m, row, i)) + Math.max(...cells.map((cell) => own(m, cell)))
    );
    const [low, high] = scores;
    const sizes = model.mean(norms) + Math.abs(low) + Math.abs(high) + Math.abs(output.start);
    const margin = CONSTANTS.rounding_tol * sizes + CONSTANTS.rounding;
    return [low - margin, high + margin];
  }

  // What rounding can do to raw scores of rows that differ in one cell from one with these matrices.
  rounding(block, bases) {
    const norm = (packed) => Math.sqrt(packed.reduce((sum, x) => sum + x * x, 0));
    const sizes = this.model.mean(bases.map((base, m) => norm(base) + 2 * this.largest(block, m)));
    return CONSTANTS.rounding_tol * (sizes + this.model.outputs.reduce((most, { start }) => Math.max(most, Math.abs(start)), 0));
  }

  // The largest norm of a column's matrix within its range, remembered.
  largest(block, m) {
    const key = `${block} ${m}`, { model } = this;
    const norm = (packed) => Math.sqrt(packed.reduce((sum, x) => sum + x * x, 0));
    const of = (slots) => slots.reduce((sum, [id, weight]) => sum + Math.abs(weight) * norm(model.design(block, m, id)), 0);
    const ends = (column) => (column.kind === "category" ? [...column.levels.keys()] : [...column.knots, column.low, column.high]);
    if (!this.known.has(key)) this.known.set(key, Math.max(0, ...model.columns.map((column) => ends(column).reduce((most, cell) => Math.max(most, of(model.slots(column, cell))), 0))));
    return this.known.get(key);
  }

  // Bounds on what people see, outwards by what rounding does to the link.
  seen(outputs, row, i, from, to, chosen) {
    const [low, high] = this.linked(outputs, row, i, from, to, chosen), outwards = CONSTANTS.link_rounding;
    const ends = [low - outwards * Math.abs(low), high + outwards * Math.abs(high)];
    return ends.map((end) => this.model.limited(end, this.model.low, this.model.high));
  }

  // For several classes, from the scores of all of them.
  linked(outputs, row, i, from, to, chosen) {
    const { model } = this;
    if (model.link !== "softmax") {
      return this.whatIf(outputs[chosen], row, i, from, to).map((score) => model.single(score));
    }
    const ranges = outputs.map((output) => this.whatIf(output, row, i, from, to));
    return [0, 1].map((side) => {
      const scores = ranges.map((range, c) => range[c === chosen ? side : 1 - side]);
      return model.predictions(scores)[chosen];
    });
  }

  // ---- one point ----------------------------------------------------------------------------------------------

  // What every column does at a row: how the score changes, and [low, high] of its slope, null where there is none.
  influences(output, row, point) {
    const bases = point.map((_, m) => this.model.matrix(output.family, m, row));
    return this.model.columns.map((column, i) => {
      if (column.kind === "category" || row[i] === null) {
        const baseline = column.kind === "category" ? -1 : column.median;
        return { change: -this.moved(output, bases, point, column, row[i], baseline), slope: null };
      }
      const { cell, sign } = this.tenth(column, row[i]);
      const change = sign * this.moved(output, bases, point, column, row[i], cell);
      return { change, slope: this.slopeRange(output, this.model.slope(column, row[i]), point) };
    });
  }

  // The exact change of the score when a cell of the row becomes another one.
  moved({ family, index }, bases, point, column, from, to) {
    const { model } = this;
    const back = model.slots(column, from).map(([id, weight]) => [id, -weight]), slots = [...back, ...model.slots(column, to)];
    if (column.kind !== "category" && from !== null && model.inside(column, from) === model.inside(column, to)) return 0;
    const moves = bases.map((base, m) => {
      const values = Eigen.values(model.add(base.slice(), family.block, m, slots), model.dim);
      return values[index] - point[m].values[index];
    });
    return model.mean(moves);
  }

  // The cell a tenth of the usual range above x and the sign of the step; below x if there is no room above.
  tenth({ axis: [, first, last], high }, x) {
    const step = (last - first) / 10;
    return x + step * (1 - CONSTANTS.room_tol) <= high ? { cell: x + step, sign: 1 } : { cell: x - step, sign: -1 };
  }

  // [low, high] of ∂score/∂x; both are equal where the eigenvalue has a derivative.
  slopeRange(output, slots, point) {
    const { model } = this;
    if (!slots.length) return [0, 0];
    const ends = point.map(({ repeated, outer }, m) => {
      const change = model.add(new Float64Array(model.size), output.family.block, m, slots);
      if (repeated) {
        const values = Eigen.values(change, model.dim);
        return [values[0], values[model.dim - 1]];
      }
      const slope = change.reduce((sum, x, k) => sum + x * outer[k], 0);
      return [slope, slope];
    });
    return [model.mean(ends.map((end) => end[0])), model.mean(ends.map((end) => end[1]))];
  }
}
