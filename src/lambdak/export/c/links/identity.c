static void inverse_link(const double *raw, double *out) {
  for (int i = 0; i < RESULTS; i++) out[i] = raw[i];
}
