
  /**
   * Returns the signed influence of every column on a raw score, as explain_local does: its slope, or what a level adds.
   *
   * @param output position of the raw score; -1 takes the class that is predicted, or the middle quantile
   */
  public static double[] explain(Map<String, ?> row, int output) {
    return explain(cells(row), output);
  }

  /** The same of cells in the order of {@link #COLUMNS}. */
  public static double[] explain(Object[] cells, int output) {
    double[] numbers = numbers(cells);
    Entries entries = entries(numbers);
    if (output < -1 || output >= OUTPUTS) throw new IllegalArgumentException("output must be from -1 to " + (OUTPUTS - 1) + "; got " + output);
    if (output < 0) {
      double[] raw = rawScores(entries, 0);
      output = @joint@ ? 0 : OUTPUTS / 2;
      for (int i = 1; @joint@ && i < OUTPUTS; i++) if (raw[i] > raw[output]) output = i;
    }
    return influences(numbers, entries, output);
  }
