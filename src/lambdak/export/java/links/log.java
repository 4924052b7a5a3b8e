  private static double[] inverseLink(double[] raw) {
    return new double[] {limited(Math.exp(Math.min(raw[0], @exponent_limit@)), LOWEST, HIGHEST)};
  }
