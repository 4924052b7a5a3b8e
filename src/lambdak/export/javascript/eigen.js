// Eigenvalues of symmetric matrices: Householder tridiagonalisation, then implicit QR steps with Wilkinson's shift, or Sturm counts.

const Eigen = (() => {
  const NEGLIGIBLE = CONSTANTS.negligible; // of a matrix whose largest entry is 1

  // The lower triangle of the matrix behind packed coordinates, row by row, divided by its largest entry.
  function unpack(packed, d) {
    const a = new Float64Array(d * d);
    let largest = 0;
    for (let i = 0, k = 0; i < d; i++) {
      for (let j = 0; j <= i; j++, k++) {
        const entry = i === j ? packed[k] : packed[k] * Math.SQRT1_2;
        a[i * d + j] = entry;
        largest = Math.max(largest, Math.abs(entry));
      }
    }
    if (largest > 0) for (let k = 0; k < a.length; k++) a[k] /= largest;
    return { a, largest };
  }

  // The reflection I − tau v vᵀ, v_{k+1} = 1, that leaves one entry below the diagonal of column k; returns tau.
  function reflection(a, d, k, v, off) {
    let tail = 0;
    for (let i = k + 2; i < d; i++) tail += a[i * d + k] ** 2;
    const head = a[(k + 1) * d + k];
    off[k] = head;
    if (tail < NEGLIGIBLE * NEGLIGIBLE) return 0;
    const norm = Math.sqrt(head * head + tail);
    const kept = head > 0 ? -norm : norm;
    off[k] = kept;
    v[k + 1] = 1;
    for (let i = k + 2; i < d; i++) v[i] = a[i * d + k] / (head - kept);
    return (kept - head) / kept;
  }

  // A ← H A H on the rows and columns after k: a symmetric update of rank two.
  function reflect(a, d, k, v, tau, w) {
    w.fill(0, k + 1);
    for (let i = k + 1; i < d; i++) {
      for (let j = k + 1; j < i; j++) {
        w[i] += a[i * d + j] * v[j];
        w[j] += a[i * d + j] * v[i];
      }
      w[i] += a[i * d + i] * v[i];
    }
    let inner = 0;
    for (let i = k + 1; i < d; i++) inner += w[i] * v[i];
    for (let i = k + 1; i < d; i++) w[i] = tau * (w[i] - 0.5 * tau * inner * v[i]);
    for (let i = k + 1; i < d; i++) {
      for (let j = k + 1; j <= i; j++) a[i * d + j] -= v[i] * w[j] + w[i] * v[j];
    }
  }

  function tridiagonalise(a, d) {
    const diag = new Float64Array(d), off = new Float64Array(d), w = new Float64Array(d), mirrors = [];
    for (let k = 0; k < d - 2; k++) {
      const v = new Float64Array(d);
      const tau = reflection(a, d, k, v, off);
      if (tau !== 0) reflect(a, d, k, v, tau, w);
      mirrors.push({ v, tau });
    }
    if (d > 1) off[d - 2] = a[(d - 1) * d + d - 2];
    for (let i = 0; i < d; i++) diag[i] = a[i * d + i];
    return { diag, off, mirrors };
  }

  function shift(diag, off, last) {
    const half = (diag[last - 1] - diag[last]) / 2, e = off[last - 1];
    const root = Math.sqrt(half * half + e * e);
    return diag[last] - (e * e) / (half + (half < 0 ? -root : root));
  }

  // One implicit QR step on the block [first, last]; the rows of z are turned along.
  function step(diag, off, first, last, z) {
    let x = diag[first] - shift(diag, off, last), bulge = off[first];
    for (let k = first; k < last; k++) {
      const r = Math.sqrt(x * x + bulge * bulge);
      if (k > first) off[k - 1] = r;
      if (r === 0) return;
      const c = x / r, s = bulge / r;
      const p = diag[k], q = diag[k + 1], e = off[k];
      diag[k] = c * c * p + 2 * c * s * e + s * s * q;
      diag[k + 1] = s * s * p - 2 * c * s * e + c * c * q;
      off[k] = c * s * (q - p) + (c * c - s * s) * e;
      if (k < last - 1) {
        x = off[k];
        bulge = s * off[k + 1];
        off[k + 1] *= c;
      }
      if (z) turn(z[k], z[k + 1], c, s);
    }
  }

  function turn(u, v, c, s) {
    for (let i = 0; i < u.length; i++) {
      const a = u[i], b = v[i];
      u[i] = c * a + s * b;
      v[i] = c * b - s * a;
    }
  }

  function diagonalise(diag, off, z) {
    const d = diag.length;
    let last = d - 1;
    for (let turns = 0; last > 0 && turns < 60 * d; turns++) {
      for (let i = 0; i < last; i++) {
        const e = Math.abs(off[i]);
        if (e <= Number.EPSILON * (Math.abs(diag[i]) + Math.abs(diag[i + 1])) || e < NEGLIGIBLE) off[i] = 0;
      }
      while (last > 0 && off[last - 1] === 0) last--;
      if (last === 0) break;
      let first = last - 1;
      while (first > 0 && off[first - 1] !== 0) first--;
      step(diag, off, first, last, z);
    }
  }

  // All eigenvalues of the matrix with these packed coordinates, ascending.
  function values(packed, d) {
    const { a, largest } = unpack(packed, d);
    const { diag, off } = tridiagonalise(a, d);
    diagonalise(diag, off, null);
    return diag.sort().map((value) => value * largest);
  }

  // All eigenvalues, ascending, and the unit eigenvectors of those at the given positions.
  function pairs(packed, d, positions) {
    const { a, largest } = unpack(packed, d);
    const { diag, off, mirrors } = tridiagonalise(a, d);
    const z = Array.from({ length: d }, (_, i) => Float64Array.from({ length: d }, (_, j) => (i === j ? 1 : 0)));
    diagonalise(diag, off, z);
    const order = Array.from(diag.keys()).sort((i, j) => diag[i] - diag[j]);
    const vectors = positions.map((position) => back(z[order[position]], mirrors));
    return { values: Float64Array.from(order, (i) => diag[i] * largest), vectors };
  }

  function back(vector, mirrors) {
    for (let k = mirrors.length - 1; k >= 0; k--) {
      const { v, tau } = mirrors[k];
      if (tau === 0) continue;
      let inner = 0;
      for (let i = k + 1; i < v.length; i++) inner += v[i] * vector[i];
      for (let i = k + 1; i < v.length; i++) vector[i] -= tau * inner * v[i];
    }
    return vector;
  }

  // Packed coordinates of v vᵀ, so that ⟨outer(v), A⟩ = vᵀ A v.
  function outer(v) {
    const packed = new Float64Array((v.length * (v.length + 1)) / 2);
    for (let i = 0, k = 0; i < v.length; i++) {
      for (let j = 0; j <= i; j++, k++) packed[k] = v[i] * v[j] * (i === j ? 1 : Math.SQRT2);
    }
    return packed;
  }

  // ---- a few eigenvalues, several times faster: whole matrices in buffers that stay, then Sturm counts ----------------

  const buffers = new Map();

  function buffersOf(d) {
    const row = () => new Float64Array(d);
    if (!buffers.has(d)) buffers.set(d, { a: new Float64Array(d * d), v: row(), w: row(), diag: row(), off: row(), square: row() });
    return buffers.get(d);
  }

  // As unpack, with both triangles; returns the largest entry.
  function spread(packed, d, a) {
    let largest = 0;
    for (let k = 0; k < packed.length; k++) largest = Math.max(largest, Math.abs(packed[k]));
    for (let i = 0, k = 0; i < d; i++, k++) {
      for (let j = 0; j < i; j++, k++) a[i * d + j] = a[j * d + i] = (packed[k] / (largest || 1)) * Math.SQRT1_2;
      a[i * d + i] = packed[k] / (largest || 1);
    }
    return largest;
  }

  // The same reflection as in reflect; rows are read and written from left to right.
  function reflectWhole(a, d, k, v, tau, w) {
    let inner = 0;
    for (let i = k + 1; i < d; i++) {
      let sum = 0;
      for (let j = k + 1, at = i * d + k + 1; j < d; j++, at++) sum += a[at] * v[j];
      w[i] = sum;
      inner += sum * v[i];
    }
    for (let i = k + 1; i < d; i++) w[i] = tau * (w[i] - 0.5 * tau * inner * v[i]);
    for (let i = k + 1; i < d; i++) {
      const x = v[i], y = w[i];
      for (let j = k + 1, at = i * d + k + 1; j < d; j++, at++) a[at] -= x * w[j] + y * v[j];
    }
  }

  // Between which bounds all eigenvalues are, and the squares of the off-diagonal, kept away from zero.
  function prepare({ diag, off, square }, d) {
    let low = Infinity, high = -Infinity;
    for (let i = 0; i < d; i++) {
      const around = (i ? Math.abs(off[i - 1]) : 0) + (i + 1 < d ? Math.abs(off[i]) : 0);
      low = Math.min(low, diag[i] - around);
      high = Math.max(high, diag[i] + around);
    }
    const size = Math.max(Math.abs(low), Math.abs(high)), least = (Number.EPSILON * size) / 8;
    for (let i = 0; i + 1 < d; i++) square[i] = Math.max(off[i] * off[i], least * least);
    return { low: low - 4 * Number.EPSILON * size, high: high + 4 * Number.EPSILON * size, enough: 2 * Number.EPSILON * size };
  }

  const TOP = 2 ** 600; // where pairs of the recurrence begin, and by what they are lifted
  const STEPS = 8; // after which a pair that began at 1 or more is still far from the smallest numbers

  // det(T − x) = value · TOP^lifts, up to a factor that all x share, and how many eigenvalues are below x.
  function determinant({ diag, square }, d, x, at) {
    let before = TOP, now = (diag[0] - x) * TOP, count = now < 0 ? 1 : 0, lifts = 0;
    for (let i = 1; i < d; i++) {
      const next = (diag[i] - x) * now - square[i - 1] * before;
      if (next < 0 !== now < 0) count++;
      before = now;
      now = next;
      if (i % STEPS === 0 && Math.abs(before) < 1 && Math.abs(now) < 1) {
        before *= TOP;
        now *= TOP;
        lifts--;
      }
    }
    at.x = x;
    at.value = now;
    at.lifts = lifts;
    at.count = count;
  }

  function copy(from, to) {
    to.x = from.x;
    to.value = from.value;
    to.lifts = from.lifts;
    to.count = from.count;
  }

  // By counts alone: slow, and never wrong by more than a rounding of the matrix.
  function bisect(t, d, position, { low, high, enough }) {
    const at = {};
    while (high - low > enough) {
      const x = low + (high - low) / 2;
      determinant(t, d, x, at);
      if (at.count > position) high = x;
      else low = x;
    }
    return low + (high - low) / 2;
  }

  // The eigenvalue at a position: counts until it is alone between two points, then the determinant by regula falsi.
  function search(t, d, position, range) {
    const { enough } = range, odd = position % 2 === 1;
    const point = (x, count) => ({ x, value: 0, lifts: 0, count }), a = point(range.low, 0), b = point(range.high, d), at = point(0, 0);
    let alone = false, side = 0, from = a.x, to = b.x, x = a.x + ((position + 0.5) / d) * (b.x - a.x);
    for (let pass = 0; pass < 300 && b.x - a.x > enough; pass++) {
      const inner = Math.min(enough, (b.x - a.x) / 2);
      determinant(t, d, Math.min(Math.max(x, a.x + inner), b.x - inner), at);
      // Alone, the sign decides. An end that stays a second time counts half (Illinois).
      if (alone ? at.value < 0 !== odd : at.count > position) {
        if (side < 0) a.value /= 2;
        copy(at, b);
        side = -1;
      } else {
        if (side > 0) b.value /= 2;
        copy(at, a);
        side = 1;
      }
      if (!alone) {
        from = a.x;
        to = b.x;
        alone = a.count === position && b.count === position + 1;
      }
      const right = b.lifts === a.lifts ? b.value : b.value * TOP ** (b.lifts - a.lifts), share = alone ? a.value / (a.value - right) : 0.5;
      x = a.x + (b.x - a.x) * (share > 0 && share < 1 && !(pass >= 12 && pass % 2) ? share : 0.5);
    }
    // Within a rounding of a counted end the sign could be that of a neighbour: such a bracket is not believed.
    if (alone && (b.x < from + 3 * enough || a.x > to - 3 * enough)) return bisect(t, d, position, range);
    return a.x + (b.x - a.x) / 2;
  }

  // The eigenvalues at these positions.
  function some(packed, d, positions) {
    const t = buffersOf(d), { a, v, w, diag, off } = t;
    const largest = spread(packed, d, a);
    for (let k = 0; k < d - 2; k++) {
      const tau = reflection(a, d, k, v, off);
      if (tau !== 0) reflectWhole(a, d, k, v, tau, w);
    }
    if (d > 1) off[d - 2] = a[(d - 1) * d + d - 2];
    for (let i = 0; i < d; i++) diag[i] = a[i * d + i];
    const range = prepare(t, d);
    return positions.map((position) => largest * (d > 1 ? search(t, d, position, range) : diag[0]));
  }

  return { values, pairs, outer, some };
})();
