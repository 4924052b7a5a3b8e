static void inverse_link(const double *raw, double *out) {
  out[0] = limited(logistic(-raw[0]), 1 - HIGHEST, 1 - LOWEST);
  out[1] = limited(logistic(raw[0]), LOWEST, HIGHEST);
}
