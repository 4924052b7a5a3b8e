// The model itself: score = start + scale Σ_m w_m λ_k(constant_m + Σ_s weight_s coef_m[id_s]), in double precision.

class Model {
  constructor(payload) {
    const { dim, weights, scale, link, ordered, blocks, families } = payload.model, { low, high } = payload.model;
    Object.assign(this, { dim, weights, scale, link, ordered, low: low ?? -Infinity, high: high ?? Infinity });
    this.columns = payload.columns;
    this.members = weights.length;
    this.size = (dim * (dim + 1)) / 2;
    this.blocks = blocks.map(Model.decode);
    this.nDesign = blocks[0].shape[1];
    this.families = families.map((family) => ({ ...family, constant: Model.decode(family.constant) }));
    this.outputs = [];
    for (const family of this.families) {
      for (const output of family.outputs) this.outputs[output.position] = { ...output, family };
    }
  }

  static decode({ dtype, base64 }) {
    const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(base64) : Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
    return dtype === "float32" ? new Float32Array(bytes.buffer) : new Float64Array(bytes.buffer);
  }

  // ---- cells to design columns ------------------------------------------------------------------------------

  // Medians, and the average level of every category.
  baselineRow() {
    return this.columns.map((column) => (column.kind === "category" ? -1 : column.median));
  }

  // Active design columns of a cell, as [id, weight]: a cell is a number or null, or the position of a level or −1.
  slots(column, cell) {
    if (column.kind === "category") return cell < 0 ? [] : [[column.start + cell, 1]];
    if (cell === null && column.missing >= 0) return [[column.missing, 1]];
    const x = this.inside(column, cell === null ? column.median : cell);
    if (column.kind === "linear") return [[column.start, (x - column.center) / column.scale]];
    if (column.knots.length < 2) return [[column.start, 1]];
    const j = this.piece(column, x);
    const t = (x - column.knots[j]) / (column.knots[j + 1] - column.knots[j]);
    return [[column.start + j, 1 - t], [column.start + j + 1, t]];
  }

  inside(column, x) {
    return column.clamp ? Math.min(Math.max(x, column.low), column.high) : x;
  }

  // The piece of a curve that x is read on; a knot belongs to the piece on its right, the last one to that on its left.
  piece(column, x) {
    let low = 0, high = column.knots.length - 2;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (x < column.knots[middle + 1]) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // ---- matrices -----------------------------------------------------------------------------------------------

  design(block, m, id) {
    const first = (m * this.nDesign + id) * this.size;
    return this.blocks[block].subarray(first, first + this.size);
  }

  add(target, block, m, slots, sign = 1) {
    for (const [id, weight] of slots) {
      const matrix = this.design(block, m, id), factor = sign * weight;
      for (let k = 0; k < target.length; k++) target[k] += factor * matrix[k];
    }
    return target;
  }

  // The active design columns of a row without one column (−1: with all of them).
  active(row, without = -1) {
    return this.columns.flatMap((column, i) => (i === without ? [] : this.slots(column, row[i])));
  }

  // A_m(row) without one column.
  matrix(family, m, row, without = -1) {
    return this.sum(family, m, this.active(row, without));
  }

  sum(family, m, slots) {
    return this.add(family.constant.slice(m * this.size, (m + 1) * this.size), family.block, m, slots);
  }

  // ---- scores -------------------------------------------------------------------------------------------------

  mean(values) {
    return this.scale * values.reduce((sum, value, m) => sum + this.weights[m] * value, 0);
  }

  scores(row) {
    const scores = new Array(this.outputs.length), slots = this.active(row);
    for (const family of this.families) {
      const indices = family.outputs.map(({ index }) => index);
      const values = this.weights.map((_, m) => Eigen.some(this.sum(family, m, slots), this.dim, indices));
      family.outputs.forEach(({ position, start }, n) => {
        scores[position] = start + this.mean(values.map((own) => own[n]));
      });
    }
    return scores;
  }

  // Raw scores of one output along one column, all else as in the row.
  along(output, row, i, cells) {
    const { family, index, start } = output;
    const rest = this.weights.map((_, m) => this.matrix(family, m, row, i));
    return cells.map((cell) => {
      const slots = this.slots(this.columns[i], cell);
      const values = rest.map((base, m) => {
        const packed = this.add(base.slice(), family.block, m, slots);
        return Eigen.some(packed, this.dim, [index])[0];
      });
      return start + this.mean(values);
    });
  }

  // ---- near a row ---------------------------------------------------------------------------------------------

  // Spectrum, eigenvector and gap of every member at a row.
  point(output, row) {
    return this.weights.map((_, m) => {
      const { values, vectors } = Eigen.pairs(this.matrix(output.family, m, row), this.dim, [output.index]);
      const k = output.index;
      const gap = Math.min(k > 0 ? values[k] - values[k - 1] : Infinity, k + 1 < this.dim ? values[k + 1] - values[k] : Infinity);
      const size = Math.max(Math.abs(values[0]), Math.abs(values[this.dim - 1]));
      return { values, gap, repeated: gap <= CONSTANTS.repeated_tol * size, outer: Eigen.outer(vectors[0]) };
    });
  }

  // dA/dx as design columns and weights, to the right of a knot; nothing where a column is constant.
  slope(column, x) {
    if (column.clamp && !(column.low < column.high && x >= column.low && x <= column.high)) return [];
    if (column.kind === "linear") return [[column.start, 1 / column.scale]];
    if (column.knots.length < 2) return [];
    const j = this.piece(column, x), rate = 1 / (column.knots[j + 1] - column.knots[j]);
    return [[column.start + j, -rate], [column.start + j + 1, rate]];
  }

  // ---- from scores to what people see -------------------------------------------------------------------------

  predictions(scores) {
    if (this.link !== "softmax") return scores.map((score) => this.single(score));
    const top = Math.max(...scores);
    const shares = scores.map((score) => Math.exp(score - top));
    const total = shares.reduce((sum, share) => sum + share, 0);
    return shares.map((share) => share / total);
  }

  // Probabilities of the classes: several, two, or several in order, whose neighbours may cross by rounding.
  chances(scores) {
    if (this.link === "softmax") return this.predictions(scores);
    if (!this.ordered) return [this.limited(this.other(scores[0]), 1 - this.high, 1 - this.low), this.single(scores[0])];
    let below = -Infinity;
    return [...scores, Infinity].map((score) => {
      const from = below;
      below = Math.max(score, from);
      return this.single(below) * this.single(-from) * -Math.expm1(from - below);
    });
  }

  // The predicted class: the most probable one, or of classes in order the first j with P(y ≤ j) ≥ 1/2.
  decided(scores) {
    if (this.ordered) return [...scores, Infinity].findIndex((score) => score >= 0);
    const chances = this.chances(scores);
    return chances.indexOf(Math.max(...chances));
  }

  // The inverse link of one score in the range of predictions; with several classes a score stays a score.
  single(score) {
    return this.limited(this.free(score), this.low, this.high);
  }

  limited(x, low, high) {
    return x < low ? low : x > high ? high : x;
  }

  free(score) {
    if (this.link === "log") return this.hazard(score);
    if (this.link === "cloglog") return -Math.expm1(-this.hazard(score));
    return this.link === "logit" ? 1 / (1 + Math.exp(-score)) : score;
  }

  // The probability of the first of two classes.
  other(score) {
    return this.link === "cloglog" ? Math.exp(-this.hazard(score)) : this.free(-score);
  }

  // The cumulative hazard whose logarithm is the score.
  hazard(score) {
    return Math.exp(Math.min(score, CONSTANTS.exponent_limit));
  }
}
