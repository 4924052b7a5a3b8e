  private static double[] inverseLink(double[] raw) {
    return new double[] {logistic(-raw[0]), logistic(raw[0])};
  }
