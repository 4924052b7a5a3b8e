  // ---- eigenvalues: Householder reduction, then Laguerre's steps and Sturm counts --------------------------------------

  private static final class Eigen {
    static final double EPSILON = Math.ulp(1.0), TINY = 2.4e-63; // a square below it, beside 1, counts as zero
    static final double LAST_STEP = 1e-7; // after a step that small, one more would be lost in rounding
    static final int MOST_PASSES = 12, RESCALE_EVERY = 16;

    final double[][] a = new double[DIM][DIM];
    final double[] d = new double[DIM], e = new double[DIM], e2 = new double[DIM], u = new double[DIM], p = new double[DIM];
    int shift; // the power of two that the matrix was divided by
    double unit, low, high, mean, spread, value, slope, bend;
    int count;
    boolean bad;

    /** Reduces the matrix with these packed coordinates to a tridiagonal one. */
    void take(double[] packed) {
      scale(packed);
      reduce();
      settle();
    }

    /** The lower triangle, its largest entry between 1/2 and 1: shift and unit undo it. */
    void scale(double[] packed) {
      double largest = 0, wrong = 0;
      for (double x : packed) {
        largest = Math.max(largest, Math.abs(x));
        wrong += x * 0; // NaN from infinity and NaN
      }
      bad = wrong != 0;
      int exponent = bad || largest == 0 ? 0 : Math.getExponent(largest) + 1;
      if (!bad && largest > 0 && largest < Double.MIN_NORMAL) exponent = -1022;
      unit = bad ? Double.NaN : 1;
      for (int i = 0, n = 0; i < DIM; i++)
        for (int j = 0; j <= i; j++, n++) {
          double x = bad ? 0 : Math.scalb(packed[n], -exponent);
          a[i][j] = i == j ? x : x * 0.70710678118654752440;
        }
      shift = exponent;
    }

    void reduce() {
      for (int s = 0; s + 2 < DIM; s++) {
        double tail = 0, alpha = a[s + 1][s];
        d[s] = a[s][s];
        for (int i = s + 2; i < DIM; i++) tail += (u[i] = a[i][s]) * a[i][s];
        e[s] = alpha;
        if (tail <= TINY) continue;
        double norm = Math.sqrt(alpha * alpha + tail), turned = alpha < 0 ? -norm : norm, h = 1 / (norm * Math.abs(alpha + turned)), inner = 0;
        e[s] = -turned;
        u[s + 1] = alpha + turned;
        Arrays.fill(p, s + 1, DIM, 0);
        for (int i = s + 1; i < DIM; i++) {
          double[] row = a[i];
          double own = 0, ui = u[i];
          for (int j = s + 1; j < i; j++) {
            own += row[j] * u[j];
            p[j] += row[j] * ui;
          }
          p[i] += own + row[i] * ui;
        }
        for (int i = s + 1; i < DIM; i++) inner += u[i] * p[i];
        for (int i = s + 1; i < DIM; i++) p[i] = h * p[i] - 0.5 * h * (h * inner) * u[i];
        for (int i = s + 1; i < DIM; i++) {
          double[] row = a[i];
          double ui = u[i], pi = p[i];
          for (int j = s + 1; j <= i; j++) row[j] -= ui * p[j] + pi * u[j];
        }
      }
      for (int i = Math.max(DIM - 2, 0); i < DIM; i++) d[i] = a[i][i];
      if (DIM > 1) e[DIM - 2] = a[DIM - 1][DIM - 2];
      e[DIM - 1] = 0;
    }

    /** Divides by a power of two, so that no row sum of |entries| exceeds 1, and bounds the eigenvalues. */
    void settle() {
      double largest = 0, sum = 0, squares = 0, least = EPSILON / 8 * (EPSILON / 8);
      for (int i = 0; i < DIM; i++) largest = Math.max(largest, Math.abs(d[i]) + around(i));
      int exponent = largest > 0 ? Math.getExponent(largest) + 1 : 0;
      shift += exponent;
      low = 1;
      high = -1;
      for (int i = 0; i < DIM; i++) {
        double near = Math.scalb(around(i), -exponent) + 4 * EPSILON;
        d[i] = Math.scalb(d[i], -exponent);
        low = Math.min(low, d[i] - near);
        high = Math.max(high, d[i] + near);
        e2[i] = Math.scalb(e[i], -exponent);
        e2[i] *= e2[i];
        sum += d[i];
        squares += d[i] * d[i] + 2 * e2[i];
        e2[i] = Math.max(e2[i], least);
      }
      mean = sum / DIM;
      spread = Math.sqrt(Math.max(squares / DIM - mean * mean, 0));
    }

    double around(int i) {
      return (i > 0 ? Math.abs(e[i - 1]) : 0) + Math.abs(e[i]);
    }

    /** Eigenvalues below x: sign changes of p_i = (d_i - x) p_{i-1} - e_{i-1}^2 p_{i-2}. */
    int countBelow(double x) {
      double before = 0x1p800, now = (d[0] - x) * before;
      int found = negative(now) ? 1 : 0;
      for (int i = 1; i < DIM; i++) {
        double next = (d[i] - x) * now - e2[i - 1] * before;
        if (negative(next) != negative(now)) found++;
        before = now;
        now = next;
        if (i % RESCALE_EVERY == 0) {
          int lift = 800 - Math.max(Math.getExponent(before), Math.getExponent(now));
          before = Math.scalb(before, lift);
          now = Math.scalb(now, lift);
        }
      }
      return found;
    }

    static boolean negative(double x) {
      return Double.doubleToRawLongBits(x) < 0;
    }

    /** By counts alone: slow, and never wrong by more than a rounding of the matrix. */
    double bisect(int k) {
      double from = low, to = high;
      while (to - from > 2 * EPSILON) {
        double x = from + 0.5 * (to - from);
        if (countBelow(x) > k) to = x;
        else from = x;
      }
      return from + 0.5 * (to - from);
    }

    /** det(T - x) with its first two derivatives, and the eigenvalues below x. */
    void evaluate(double x) {
      double p0 = 1, s0 = 0, b0 = 0, p1 = d[0] - x, s1 = -1, b1 = 0;
      count = negative(p1) ? 1 : 0;
      for (int i = 1; i < DIM; i++) {
        double here = d[i] - x, off = e2[i - 1];
        double p2 = here * p1 - off * p0, s2 = here * s1 - off * s0 - p1, b2 = here * b1 - off * b0 - 2 * s1;
        if (negative(p2) != negative(p1)) count++;
        p0 = p1;
        s0 = s1;
        b0 = b1;
        p1 = p2;
        s1 = s2;
        b1 = b2;
      }
      value = p1;
      slope = s1;
      bend = b1;
    }

    /** The step of Laguerre's method from x to the root that is so many to the right, or left, of it. */
    double step(boolean right, int roots) {
      double inside = (double) (DIM - roots) / roots * ((DIM - 1) * (slope * slope) - DIM * (value * bend));
      double root = Math.sqrt(inside > 0 ? inside : 0);
      return -DIM * value / (slope + ((value < 0) != right ? -root : root));
    }

    /** Eigenvalue k, counted from the smallest: steps converge with the third power, counts decide where they fail. */
    double value(int k) {
      double from = low, to = high, x = mean + EXPECTED[k] * spread;
      boolean open = true;
      for (int pass = 0; open && pass < MOST_PASSES; pass++) {
        evaluate(x);
        boolean right = count <= k;
        double step = step(right, right ? k + 1 - count : count - k), there = x + step;
        if (right) from = x;
        else to = x;
        x = there >= from && there <= to ? there : 0.5 * (from + to);
        open = !(Math.abs(step) < LAST_STEP);
      }
      if (countBelow(x - 3 * EPSILON) > k || countBelow(x + 3 * EPSILON) <= k) x = bisect(k);
      return Math.scalb(x, shift) * unit;
    }

    static final double[] EXPECTED = new double[DIM]; // in standard deviations of all eigenvalues: the semicircle law

    static {
      for (int k = 0; k < DIM; k++) {
        double from = -1, to = 1;
        for (int i = 0; i < 30; i++) {
          double s = 0.5 * (from + to);
          if (0.5 + (s * Math.sqrt(1 - s * s) + Math.asin(s)) / Math.PI < (k + 0.5) / DIM) from = s;
          else to = s;
        }
        EXPECTED[k] = from + to;
      }
    }
  }
