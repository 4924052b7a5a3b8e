  private static double[] inverseLink(double[] raw) {
    for (int i = 1; i < raw.length; i++) raw[i] = Math.max(raw[i], raw[i - 1]); // quantiles may cross by rounding
    for (int i = 0; i < raw.length; i++) raw[i] = limited(raw[i], LOWEST, HIGHEST);
    return raw;
  }
