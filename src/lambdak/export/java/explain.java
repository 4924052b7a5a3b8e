  // ---- explanations: the slope of a raw score in each column, from the eigenvector ------------------------------------

  private static double[] influences(double[] cells, Entries entries, int output) {
    double[] influence = new double[ALL.length], sum = new double[SIZE], outer = new double[SIZE];
    int read = 0;
    while (READS[read + 3] != output) read += 4;
    int block = READS[read], family = READS[read + 1];
    boolean repeated = false;
    for (int m = 0; m < MEMBERS; m++) {
      addUp(block, m, entries, sum);
      for (int n = 0; n < SIZE; n++) sum[n] += CONSTANTS[(family * MEMBERS + m) * SIZE + n];
      repeated |= outerProduct(sum, READS[read + 2], outer);
      for (int i = 0; i < ALL.length; i++) influence[i] += SCALE * WEIGHTS[m] * slope(BLOCKS[block], m, ALL[i], cells[i], entries.first[i], outer);
    }
    if (repeated) Arrays.fill(influence, Double.NaN);
    return influence;
  }

  /** What a cell adds per unit of its number, to the right of a knot; a level as a whole, for it has no slope. */
  private static double slope(@stored@[] block, int m, Column own, double x, int first, double[] outer) {
    if (own.kind == CATEGORY) return first < 0 ? 0 : product(block, m, first, outer);
    if (x != x || own.clamp && !(x >= own.low && x <= own.high && own.low < own.high)) return 0;
    if (own.kind == LINE) return product(block, m, first, outer) / own.scale;
    if (own.count < 2) return 0;
    int piece = first - own.first;
    double rate = 1 / (own.knots[piece + 1] - own.knots[piece]);
    return rate * product(block, m, first + 1, outer) - rate * product(block, m, first, outer);
  }

  private static double product(@stored@[] block, int m, int id, double[] outer) {
    double sum = 0;
    for (int n = 0, at = (m * DESIGN + id) * SIZE; n < SIZE; n++, at++) sum += outer[n] * block[at];
    return sum;
  }

  /** v v^T of eigenvalue k in packed coordinates; returns whether another one is too close for it to mean anything. */
  private static boolean outerProduct(double[] packed, int k, double[] outer) {
    Eigen eigen = new Eigen();
    eigen.scale(packed);
    if (eigen.bad) return true;
    double[][] a = eigen.a, v = new double[DIM][DIM];
    for (int i = 0; i < DIM; i++) for (int j = 0; j < i; j++) a[j][i] = a[i][j];
    diagonalise(a, v);
    Integer[] order = new Integer[DIM];
    double largest = 0;
    for (int i = 0; i < DIM; i++) {
      order[i] = i;
      largest = Math.max(largest, Math.abs(a[i][i]));
    }
    Arrays.sort(order, (i, j) -> Double.compare(a[i][i], a[j][j]));
    int own = order[k], close = 0;
    for (int i = 0; i < DIM; i++) if (Math.abs(a[i][i] - a[own][own]) <= @repeated@ * largest) close++;
    for (int i = 0, n = 0; i < DIM; i++)
      for (int j = 0; j <= i; j++, n++) outer[n] = v[i][own] * v[j][own] * (i == j ? 1 : 1.41421356237309504880);
    return close > 1;
  }

  /** All eigenvalues and eigenvectors (columns of v) of a symmetric matrix by Jacobi's rotations: a becomes diagonal. */
  private static void diagonalise(double[][] a, double[][] v) {
    for (int i = 0; i < DIM; i++) v[i][i] = 1;
    boolean turned = true;
    for (int sweep = 0; turned && sweep < 40; sweep++) {
      turned = false;
      for (int p = 0; p < DIM; p++)
        for (int q = p + 1; q < DIM; q++) {
          if (Math.abs(a[p][q]) <= Eigen.TINY || Math.abs(a[p][q]) <= 1e-3 * Eigen.EPSILON * Math.sqrt(Math.abs(a[p][p])) * Math.sqrt(Math.abs(a[q][q]))) continue;
          rotate(a, v, p, q);
          turned = true;
        }
    }
  }

  private static void rotate(double[][] a, double[][] v, int p, int q) {
    double half = (a[q][q] - a[p][p]) / (2 * a[p][q]), tangent = (half < 0 ? -1 : 1) / (Math.abs(half) + Math.sqrt(half * half + 1));
    double c = 1 / Math.sqrt(tangent * tangent + 1), s = tangent * c, change = tangent * a[p][q];
    a[p][p] -= change;
    a[q][q] += change;
    a[p][q] = a[q][p] = 0;
    for (int i = 0; i < DIM; i++) {
      if (i != p && i != q) {
        double x = a[i][p], y = a[i][q];
        a[i][p] = a[p][i] = c * x - s * y;
        a[i][q] = a[q][i] = s * x + c * y;
      }
      double x = v[i][p], y = v[i][q];
      v[i][p] = c * x - s * y;
      v[i][q] = s * x + c * y;
    }
  }

