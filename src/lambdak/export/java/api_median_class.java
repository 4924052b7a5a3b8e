
  /** Returns the median of {@link #LABELS}, which are in order, for what {@link #raw} returns. */
  public static String label(double[] raw) {
    int first = 0;
    while (first < OUTPUTS && !(raw[first] >= 0)) first++;
    return LABELS.get(first);
  }
