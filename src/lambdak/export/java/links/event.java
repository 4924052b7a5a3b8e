  private static double[] inverseLink(double[] raw) {
    double hazard = Math.exp(Math.min(raw[0], @exponent_limit@));
    return new double[] {limited(Math.exp(-hazard), 1 - HIGHEST, 1 - LOWEST), limited(-Math.expm1(-hazard), LOWEST, HIGHEST)};
  }
