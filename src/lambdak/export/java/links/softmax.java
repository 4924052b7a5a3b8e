  private static double[] inverseLink(double[] raw) {
    double[] out = new double[OUTPUTS];
    double top = Arrays.stream(raw).max().getAsDouble(), total = 0;
    for (int i = 0; i < OUTPUTS; i++) total += out[i] = Math.exp(raw[i] - top);
    for (int i = 0; i < OUTPUTS; i++) out[i] /= total;
    return out;
  }
