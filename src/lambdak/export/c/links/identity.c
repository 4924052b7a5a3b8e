static void inverse_link(const double *raw, double *out) {
  out[0] = raw[0];
  for (int i = 1; i < RESULTS; i++) out[i] = raw[i] > out[i - 1] ? raw[i] : out[i - 1]; /* quantiles may cross by rounding */
  for (int i = 0; i < RESULTS; i++) out[i] = limited(out[i], LOWEST, HIGHEST);
}
