
  /** The same with an offset, which is added to the raw scores. */
  public static double[] predict(Map<String, ?> row, double offset) {
    return inverseLink(raw(row, offset));
  }

  /** The same with an offset, which is added to the raw scores. */
  public static double[] predict(Object[] cells, double offset) {
    return inverseLink(raw(cells, offset));
  }

  /** The raw scores of a row, with an offset. */
  public static double[] raw(Map<String, ?> row, double offset) {
    return rawScores(entries(numbers(cells(row))), offset);
  }

  /** The raw scores of cells in the order of {@link #COLUMNS}, with an offset. */
  public static double[] raw(Object[] cells, double offset) {
    return rawScores(entries(numbers(cells)), offset);
  }
