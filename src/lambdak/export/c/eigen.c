/* ---- eigenvalues: Householder reduction of LANES matrices side by side, then Laguerre's steps and Sturm counts - */

#define EACH_LANE for (int l = 0; l < LANES; l++)
#define AT(i, j) ((i) * ((i) + 1) / 2 + (j))
#define EPSILON 2.220446049250313e-16
#define TINY 2.4e-63   /* the square below which an entry of a matrix whose largest entry is 1 counts as zero */
#define TOLERANCE (2 * EPSILON)
#define NEAR (3 * EPSILON)
#define LAST_STEP 1e-7 /* after a step that small, one more would be lost in rounding */
#define MOST_PASSES 12
#define RESCALE_EVERY 16

static double power_of_two(int exponent) { /* exponent in [-1022, 1023] */
  const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

static int exponent_of(double x) { /* floor(log2 |x|) of a normal number */
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (int)(bits >> 52 & 2047) - 1023;
}

/* Packed coordinates to the lower triangle, its largest entry between 1 and 2: multiply by `unit[l] * rest[l]` to undo
   it. Returns which lanes hold infinity or NaN, as bits; these become zero. */
static unsigned scale_lanes(const double packed[WIDTH], double a[SIZE][LANES], double unit[LANES], double rest[LANES]) {
  double most[4] = {0, 0, 0, 0}, check[4] = {0, 0, 0, 0}, first[LANES], second[LANES];
  unsigned bad = 0;
  for (int n = 0; n < WIDTH; n += 4) for (int q = 0; q < 4; q++) {
    const double x = fabs(packed[n + q]);
    most[q] = x > most[q] ? x : most[q];
    check[q] += packed[n + q] * 0; /* NaN from infinity and NaN */
  }
  EACH_LANE {
    double largest = 0, wrong = 0;
    for (int q = l; q < 4; q += LANES) {
      largest = most[q] > largest ? most[q] : largest;
      wrong += check[q];
    }
    bad |= (wrong != 0 ? 1u : 0u) << l; /* NaN differs from 0 */
    first[l] = wrong != 0 || largest == 0 ? 0 : largest < 1e-270 ? 8.452712498170644e+270 : largest > 1e270 ? 1.1830521861667747e-271 : 1;
    unit[l] = first[l] > 0 ? power_of_two(exponent_of(largest * first[l])) : 1;
    rest[l] = first[l] > 0 ? 1 / first[l] : 0;
    second[l] = 1 / unit[l];
  }
  for (int i = 0, n = 0; i < DIM; i++, n++) {
    for (int j = 0; j < i; j++, n++) EACH_LANE a[n][l] = packed[n * LANES + l] * first[l] * second[l] * 0.70710678118654752440;
    EACH_LANE a[n][l] = packed[n * LANES + l] * first[l] * second[l];
  }
  if (bad) for (int n = 0; n < SIZE; n++) EACH_LANE if (bad >> l & 1u) a[n][l] = 0;
  return bad;
}

/* The tridiagonal form: diagonal d and off-diagonal e. Each step applies the rank-2 update of the one before it, and
   multiplies with the next reflector, while an entry is at hand. */
static void reduce(double a[SIZE][LANES], double d[DIM][LANES], double e[DIM][LANES]) {
  double v[DIM][LANES], w[DIM][LANES], u[DIM][LANES], p[DIM][LANES], sum[LANES], h[LANES];
  for (int i = 0; i < DIM; i++) EACH_LANE v[i][l] = w[i][l] = 0;
  for (int s = 0; s + 2 < DIM; s++) {
    EACH_LANE {
      d[s][l] = a[AT(s, s)][l] - 2 * v[s][l] * w[s][l];
      u[s + 1][l] = a[AT(s + 1, s)][l] - v[s + 1][l] * w[s][l] - w[s + 1][l] * v[s][l];
      sum[l] = 0;
    }
    for (int i = s + 2; i < DIM; i++) EACH_LANE {
      const double x = a[AT(i, s)][l] - v[i][l] * w[s][l] - w[i][l] * v[s][l];
      u[i][l] = x;
      sum[l] += x * x;
    }
    EACH_LANE {
      const double alpha = u[s + 1][l], norm = sqrt(alpha * alpha + sum[l]), turned = alpha < 0 ? -norm : norm;
      e[s][l] = sum[l] > TINY ? -turned : alpha;
      h[l] = sum[l] > TINY ? 1 / (norm * fabs(alpha + turned)) : 0;
      u[s + 1][l] = alpha + turned;
      sum[l] = 0;
    }
    for (int i = s + 1; i < DIM; i++) EACH_LANE p[i][l] = 0;
    for (int i = s + 1; i < DIM; i++) {
      double own[LANES], vi[LANES], wi[LANES], ui[LANES];
      EACH_LANE own[l] = 0, vi[l] = v[i][l], wi[l] = w[i][l], ui[l] = u[i][l];
      for (int j = s + 1; j < i; j++) EACH_LANE {
        const double x = a[AT(i, j)][l] - vi[l] * w[j][l] - wi[l] * v[j][l];
        a[AT(i, j)][l] = x;
        own[l] += x * u[j][l];
        p[j][l] += x * ui[l];
      }
      EACH_LANE {
        const double x = a[AT(i, i)][l] - 2 * vi[l] * wi[l];
        a[AT(i, i)][l] = x;
        p[i][l] = own[l] + x * ui[l];
      }
    }
    for (int i = s + 1; i < DIM; i++) EACH_LANE sum[l] += u[i][l] * p[i][l];
    for (int i = s + 1; i < DIM; i++) EACH_LANE {
      w[i][l] = h[l] * p[i][l] - 0.5 * h[l] * (h[l] * sum[l]) * u[i][l];
      v[i][l] = u[i][l];
    }
  }
  for (int i = DIM > 1 ? DIM - 2 : 0; i < DIM; i++) EACH_LANE d[i][l] = a[AT(i, i)][l] - 2 * v[i][l] * w[i][l];
  for (int i = DIM > 1 ? DIM - 2 : 0; i + 1 < DIM; i++)
    EACH_LANE e[i][l] = a[AT(i + 1, i)][l] - v[i + 1][l] * w[i][l] - w[i + 1][l] * v[i][l];
}

/* LANES tridiagonal matrices T, each scaled so that no row sum of |entries| exceeds 1. */
typedef struct {
  double d[DIM][LANES], e2[DIM][LANES];    /* diagonal; squares of the off-diagonal, kept away from zero */
  double low[LANES], high[LANES];          /* bounds, mean and standard deviation of the eigenvalues */
  double mean[LANES], spread[LANES];
  double unit[LANES];                      /* multiply by this to undo the scaling */
} tridiagonal;

static void settle(tridiagonal *t, double d[DIM][LANES], double e[DIM][LANES]) {
  const double least = EPSILON / 8 * (EPSILON / 8);
  double radius[DIM][LANES], largest[LANES], factor[LANES], sum[LANES], squares[LANES];
  EACH_LANE largest[l] = sum[l] = squares[l] = e[DIM - 1][l] = 0;
  for (int i = 0; i < DIM; i++) EACH_LANE {
    radius[i][l] = (i > 0 ? fabs(e[i - 1][l]) : 0) + fabs(e[i][l]);
    largest[l] = fabs(d[i][l]) + radius[i][l] > largest[l] ? fabs(d[i][l]) + radius[i][l] : largest[l];
  }
  EACH_LANE {
    t->unit[l] = largest[l] > 0 ? power_of_two(exponent_of(largest[l]) + 1) : 1;
    factor[l] = 1 / t->unit[l];
    t->low[l] = 1, t->high[l] = -1;
  }
  for (int i = 0; i < DIM; i++) EACH_LANE {
    const double x = d[i][l] * factor[l], off = e[i][l] * factor[l], around = radius[i][l] * factor[l] + 4 * EPSILON;
    t->d[i][l] = x;
    t->e2[i][l] = off * off > least ? off * off : least;
    t->low[l] = x - around < t->low[l] ? x - around : t->low[l];
    t->high[l] = x + around > t->high[l] ? x + around : t->high[l];
    sum[l] += x;
    squares[l] += x * x + 2 * (off * off);
  }
  EACH_LANE {
    t->mean[l] = sum[l] / DIM;
    squares[l] = squares[l] / DIM - t->mean[l] * t->mean[l];
    t->spread[l] = sqrt(squares[l] > 0 ? squares[l] : 0);
  }
}

static uint64_t sign_changed(double a, double b) {
  uint64_t before, now;
  memcpy(&before, &a, sizeof before);
  memcpy(&now, &b, sizeof now);
  return (before ^ now) >> 63;
}

/* Eigenvalues of lane l below x: sign changes of p_i = (d_i - x) p_{i-1} - e²_{i-1} p_{i-2}. */
static int count_below(const tridiagonal *t, int l, double x) {
  double before = 6.668014432879854e+240, now = (t->d[0][l] - x) * before; /* 2^800 */
  uint64_t count = sign_changed(before, now);
  for (int i = 1; i < DIM; i++) {
    const double next = (t->d[i][l] - x) * now - t->e2[i - 1][l] * before;
    count += sign_changed(now, next);
    before = now, now = next;
    if (i % RESCALE_EVERY == 0) { /* back to 2^800, in two steps: from the bottom of the range one factor would overflow */
      const double larger = fabs(before) > fabs(now) ? fabs(before) : fabs(now);
      const int lift = 800 - exponent_of(larger), half = lift / 2;
      const double first = power_of_two(half), second = power_of_two(lift - half);
      before = before * first * second;
      now = now * first * second;
    }
  }
  return (int)count;
}

/* By counts alone: slow, and never wrong by more than a rounding of T. */
static double bisect(const tridiagonal *t, int l, int k) {
  double low = t->low[l], high = t->high[l];
  while (high - low > TOLERANCE) {
    const double x = low + 0.5 * (high - low);
    if (count_below(t, l, x) > k) high = x;
    else low = x;
  }
  return low + 0.5 * (high - low);
}

/* det(T - x) with its first two derivatives, and the eigenvalues below x: all lanes, one x for each. */
typedef struct {
  double p[LANES], slope[LANES], bend[LANES];
  uint64_t count[LANES];
} polynomial;

static void evaluate(const tridiagonal *t, const double x[LANES], polynomial *at) {
  double p0[LANES], s0[LANES], b0[LANES];
  EACH_LANE {
    p0[l] = 1, s0[l] = b0[l] = at->bend[l] = 0;
    at->p[l] = t->d[0][l] - x[l];
    at->slope[l] = -1;
    at->count[l] = sign_changed(1, at->p[l]);
  }
  for (int i = 1; i < DIM; i++) EACH_LANE {
    const double here = t->d[i][l] - x[l], off = t->e2[i - 1][l];
    const double p = here * at->p[l] - off * p0[l];
    const double s = here * at->slope[l] - off * s0[l] - at->p[l];
    const double b = here * at->bend[l] - off * b0[l] - 2 * at->slope[l];
    at->count[l] += sign_changed(at->p[l], p);
    p0[l] = at->p[l], s0[l] = at->slope[l], b0[l] = at->bend[l];
    at->p[l] = p, at->slope[l] = s, at->bend[l] = b;
  }
}

/* The step of Laguerre's method from x to the root that is `roots` to the right, or left, of it: it goes not too far. */
static double laguerre(double p, double slope, double bend, int right, int roots) {
  const double inside = (double)(DIM - roots) / roots * ((DIM - 1) * (slope * slope) - DIM * (p * bend));
  const double root = sqrt(inside > 0 ? inside : 0);
  return -DIM * p / (slope + ((p < 0) != right ? -root : root));
}

/* λ_k of all lanes. `position` is where it is expected, in units of `spread`. Steps converge with the third power, and
   their end counts only if λ_k is there: where steps fail, as among eigenvalues that are almost equal, counts decide. */
static void search(const tridiagonal *t, int k, double position, double value[LANES]) {
  double low[LANES], high[LANES];
  int open = 1;
  EACH_LANE low[l] = t->low[l], high[l] = t->high[l], value[l] = t->mean[l] + position * t->spread[l];
  for (int pass = 0; open && pass < MOST_PASSES; pass++) {
    polynomial at;
    evaluate(t, value, &at);
    open = 0;
    EACH_LANE {
      const int count = (int)at.count[l], right = count <= k;
      const double step = laguerre(at.p[l], at.slope[l], at.bend[l], right, right ? k + 1 - count : count - k);
      const double x = value[l] + step;
      low[l] = right ? value[l] : low[l];
      high[l] = right ? high[l] : value[l];
      value[l] = x >= low[l] && x <= high[l] ? x : 0.5 * (low[l] + high[l]);
      open |= !(fabs(step) < LAST_STEP);
    }
  }
  EACH_LANE {
    const double x = value[l];
    if (count_below(t, l, x - NEAR) > k || count_below(t, l, x + NEAR) <= k) value[l] = bisect(t, l, k);
  }
}

/* The eigenvalues that `reads` names, of LANES matrices in packed coordinates; NaN for a matrix that is not finite. */
static void eigenvalues(const double packed[WIDTH], const eigenvalue *reads, int n, double value[][LANES]) {
  double a[SIZE][LANES], d[DIM][LANES], e[DIM][LANES], unit[LANES], rest[LANES];
  const unsigned bad = scale_lanes(packed, a, unit, rest);
  tridiagonal t;
  reduce(a, d, e);
  settle(&t, d, e);
  for (int i = 0; i < n; i++) {
    search(&t, reads[i].index, reads[i].position, value[i]);
    EACH_LANE value[i][l] = bad >> l & 1u ? NAN : value[i][l] * t.unit[l] * unit[l] * rest[l];
  }
}
