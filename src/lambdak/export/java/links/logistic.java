  private static double logistic(double x) {
    double small = Math.exp(-Math.abs(x));
    return (x < 0 ? small : 1) / (1 + small);
  }

