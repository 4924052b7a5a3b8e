  private static final double LOWEST = @lowest@, HIGHEST = @highest@;

  private static double limited(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
  }

