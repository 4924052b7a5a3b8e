/* ---- explanations: the slope of a raw score in each column, from the eigenvector -------------------------------- */

/* All eigenvalues and eigenvectors (columns of v) of a symmetric matrix by Jacobi's rotations: a becomes diagonal. */
static void diagonalise(double a[DIM][DIM], double v[DIM][DIM]) {
  for (int i = 0; i < DIM; i++) for (int j = 0; j < DIM; j++) v[i][j] = i == j ? 1 : 0;
  for (int sweep = 0, turned = 1; turned && sweep < 40; sweep++) {
    turned = 0;
    for (int p = 0; p < DIM; p++) for (int q = p + 1; q < DIM; q++) {
      if (fabs(a[p][q]) <= TINY || fabs(a[p][q]) <= 1e-3 * EPSILON * sqrt(fabs(a[p][p])) * sqrt(fabs(a[q][q]))) continue;
      const double half = (a[q][q] - a[p][p]) / (2 * a[p][q]);
      const double tangent = (half < 0 ? -1 : 1) / (fabs(half) + sqrt(half * half + 1));
      const double c = 1 / sqrt(tangent * tangent + 1), s = tangent * c, change = tangent * a[p][q];
      turned = 1;
      a[p][p] -= change, a[q][q] += change;
      a[p][q] = a[q][p] = 0;
      for (int i = 0; i < DIM; i++) {
        if (i != p && i != q) {
          const double x = a[i][p], y = a[i][q];
          a[i][p] = a[p][i] = c * x - s * y;
          a[i][q] = a[q][i] = s * x + c * y;
        }
        const double x = v[i][p], y = v[i][q];
        v[i][p] = c * x - s * y;
        v[i][q] = s * x + c * y;
      }
    }
  }
}

/* v vᵀ of λ_k in packed coordinates; returns whether another eigenvalue is too close for it to mean anything. */
static int outer_product(const double packed[WIDTH], int l, int k, double outer[SIZE]) {
  double a[DIM][DIM], v[DIM][DIM], lower[SIZE][LANES], unit[LANES], rest[LANES], largest = 0;
  int order[DIM], close = 0;
  if (scale_lanes(packed, lower, unit, rest) >> l & 1u) return 1;
  for (int i = 0; i < DIM; i++) for (int j = 0; j <= i; j++) a[i][j] = a[j][i] = lower[AT(i, j)][l];
  diagonalise(a, v);
  for (int i = 0; i < DIM; i++) {
    int j = i;
    for (; j > 0 && a[order[j - 1]][order[j - 1]] > a[i][i]; j--) order[j] = order[j - 1];
    order[j] = i;
    largest = fabs(a[i][i]) > largest ? fabs(a[i][i]) : largest;
  }
  const int own = order[k];
  for (int i = 0; i < DIM; i++) close += fabs(a[i][i] - a[own][own]) <= REPEATED * largest;
  for (int i = 0; i < DIM; i++) for (int j = 0; j <= i; j++)
    outer[AT(i, j)] = v[i][own] * v[j][own] * (i == j ? 1 : 1.41421356237309504880);
  return close > 1;
}

/* What a cell adds per unit of its number, to the right of a knot; a level as a whole, for it has no slope. */
static entry slope_of(const column *own, double x, entry here) {
  entry none = {-1, 0, 0};
  if (own->kind == CATEGORY) return here;
  if (x != x || (own->clamp && !(x >= own->low && x <= own->high && own->low < own->high))) return none;
  if (own->kind == LINE) {
    here.weight = 1 / own->scale;
    return here;
  }
  if (own->count < 2) return none;
  const int piece = here.first - own->first;
  here.next = 1 / (own->knots[piece + 1] - own->knots[piece]);
  here.weight = -here.next;
  return here;
}

static double product(const stored *own, int l, const double outer[SIZE]) {
  double sum = 0;
  for (int i = 0; i < SIZE; i++) sum += outer[i] * (double)own[i * LANES + l];
  return sum;
}

static void influences(const double *cells, const entry *entries, int output, double *influence) {
  double sum[WIDTH], packed[WIDTH], outer[SIZE];
  int repeated = 0;
  for (int i = 0; i < COLUMNS; i++) influence[i] = 0;
  for (int at = 0; at < BLOCKS * MEMBERS; at++) {
    const int g = at / LANES, l = at % LANES;
    int layer = 0, read = 0;
    if (BLOCKS > 1 && at / MEMBERS != output) continue;
    if (l == 0 || at % MEMBERS == 0) add_up(matrices[g], entries, sum);
    if (BLOCKS == 1) while (reads[read].output != output) read++;
    while (first_read[layer + 1] <= read) layer++;
    for (int i = 0; i < WIDTH; i++) packed[i] = constants[layer][g][i] + sum[i];
    repeated |= outer_product(packed, l, reads[read].index, outer);
    for (int i = 0; i < COLUMNS; i++) {
      const entry slope = slope_of(&columns[i], cells[i], entries[i]);
      if (slope.first < 0) continue;
      const stored *own = matrices[g] + (size_t)slope.first * WIDTH;
      const double here = slope.weight * product(own, l, outer);
      const double there = slope.next != 0 ? slope.next * product(own + WIDTH, l, outer) : 0;
      influence[i] += SCALE * weights[at % MEMBERS] * (here + there);
    }
  }
  if (repeated) for (int i = 0; i < COLUMNS; i++) influence[i] = NAN;
}
