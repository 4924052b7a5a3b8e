
  /** Returns the most probable of {@link #LABELS} for what {@link #raw} returns. */
  public static String label(double[] raw) {
    double[] chances = inverseLink(raw.clone());
    int best = 0;
    for (int i = 1; i < chances.length; i++) if (chances[i] > chances[best]) best = i;
    return LABELS.get(best);
  }
