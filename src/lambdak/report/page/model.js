// The model itself: score = start + scale Σ_m w_m λ_k(constant_m + Σ_s weight_s coef_m[id_s]), in double precision.

class Model {
  constructor(payload) {
    const { dim, weights, scale, link, blocks, families } = payload.model;
    Object.assign(this, { dim, weights, scale, link });
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
  typicalRow() {
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

  // A_m(row) without one column (−1: with all of them).
  matrix(family, m, row, without = -1) {
    const packed = family.constant.slice(m * this.size, (m + 1) * this.size);
    this.columns.forEach((column, i) => {
      if (i !== without) this.add(packed, family.block, m, this.slots(column, row[i]));
    });
    return packed;
  }

  // ---- scores -------------------------------------------------------------------------------------------------

  mean(values) {
    return this.scale * values.reduce((sum, value, m) => sum + this.weights[m] * value, 0);
  }

  scores(row) {
    const scores = new Array(this.outputs.length);
    for (const family of this.families) {
      const spectra = this.weights.map((_, m) => Eigen.values(this.matrix(family, m, row), this.dim));
      for (const { position, index, start } of family.outputs) {
        scores[position] = start + this.mean(spectra.map((values) => values[index]));
      }
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
        return Eigen.values(packed, this.dim)[index];
      });
      return start + this.mean(values);
    });
  }

  // ---- from scores to what people see -------------------------------------------------------------------------

  predictions(scores) {
    if (this.link !== "softmax") return scores.map((score) => this.single(score));
    const top = Math.max(...scores);
    const shares = scores.map((score) => Math.exp(score - top));
    const total = shares.reduce((sum, share) => sum + share, 0);
    return shares.map((share) => share / total);
  }

  // The inverse link of one score; with several classes a score stays a score.
  single(score) {
    if (this.link === "log") return Math.exp(Math.min(score, CONSTANTS.exponent_limit));
    return this.link === "logit" ? 1 / (1 + Math.exp(-score)) : score;
  }
}
