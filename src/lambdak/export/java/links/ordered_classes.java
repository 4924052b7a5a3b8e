  private static double[] inverseLink(double[] raw) {
    double[] out = new double[OUTPUTS + 1];
    double below = Double.NEGATIVE_INFINITY;
    for (int i = 0; i <= OUTPUTS; i++) { // neighbours may cross by rounding
      double above = i == OUTPUTS ? Double.POSITIVE_INFINITY : Math.max(raw[i], below);
      out[i] = logistic(above) * logistic(-below) * -Math.expm1(below - above);
      below = above;
    }
    return out;
  }
