  private static double[] inverseLink(double[] raw) {
    return new double[] {limited(logistic(-raw[0]), 1 - HIGHEST, 1 - LOWEST), limited(logistic(raw[0]), LOWEST, HIGHEST)};
  }
