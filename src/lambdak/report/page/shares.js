// What each column adds to the raw score of a row, compared with the baseline: shares that add up. Along the
// straight way A + tΔ from one matrix to the other, the change of the eigenvalue is ⟨Δ, ∫ v vᵀ dt⟩, and that of a column
// ⟨Δ_i, ∫ v vᵀ dt⟩, as in explain_local.

class Shares {
  static NODES = [-0.9061798459386640, -0.5384693101056831, 0, 0.5384693101056831, 0.9061798459386640]; // Gauss's rule
  static WEIGHTS = [0.2369268850561891, 0.4786286704993665, 0.5688888888888889, 0.4786286704993665, 0.2369268850561891];
  static FEWEST = 2; // halvings of the way, and most
  static MOST = 12;

  constructor(model) {
    this.model = model;
    this.baseline = model.baselineRow();
  }

  // {base, score, shares}: raw scores of the baseline and of this one, and what each column adds.
  of(output, row) {
    const { model, baseline } = this, { family, index } = output;
    const ways = model.weights.map((_, m) => this.mean(model.matrix(family, m, baseline), model.matrix(family, m, row), index));
    const shares = model.columns.map((column, i) => {
      const back = model.slots(column, baseline[i]).map(([id, weight]) => [id, -weight]);
      const slots = [...back, ...model.slots(column, row[i])];
      return model.mean(ways.map(({ outer }, m) => this.inner(family.block, m, slots, outer)));
    });
    const scores = [0, 1].map((end) => output.start + model.mean(ways.map(({ ends }) => ends[end])));
    return { base: scores[0], score: scores[1], shares };
  }

  inner(block, m, slots, outer) {
    return slots.reduce((sum, [id, weight]) => {
      const matrix = this.model.design(block, m, id);
      let own = 0;
      for (let k = 0; k < outer.length; k++) own += outer[k] * matrix[k];
      return sum + weight * own;
    }, 0);
  }

  // ∫ v vᵀ from one matrix to another, in pieces that are halved until they add up to the change of the eigenvalue.
  mean(from, to, index) {
    const { dim } = this.model, delta = to.map((x, k) => x - from[k]), outer = new Float64Array(from.length);
    const at = (t) => from.map((x, k) => x + t * delta[k]), value = (t) => Eigen.some(at(t), dim, [index])[0];
    const ends = [value(0), value(1)], reach = Math.sqrt(delta.reduce((sum, x) => sum + x * x, 0));
    const open = [[0, 1, ...ends, 0]];
    while (open.length) {
      const [low, high, first, last, depth] = open.pop();
      const piece = this.piece(at, low, high, index), missed = Math.abs(piece.reduce((sum, x, k) => sum + x * delta[k], 0) - (last - first));
      if (depth >= Shares.FEWEST && (missed <= CONSTANTS.share_tol * reach || depth >= Shares.MOST)) {
        piece.forEach((x, k) => { outer[k] += x; });
        continue;
      }
      const middle = (low + high) / 2, between = value(middle);
      open.push([low, middle, first, between, depth + 1], [middle, high, between, last, depth + 1]);
    }
    return { outer, ends };
  }

  piece(at, low, high, index) {
    const sum = new Float64Array(this.model.size), half = (high - low) / 2;
    Shares.NODES.forEach((node, n) => {
      const { vectors } = Eigen.pairs(at(low + half * (1 + node)), this.model.dim, [index]), own = Eigen.outer(vectors[0]);
      for (let k = 0; k < sum.length; k++) sum[k] += half * Shares.WEIGHTS[n] * own[k];
    });
    return sum;
  }
}
