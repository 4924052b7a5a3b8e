static int class_of(const double *raw, const double *out) {
  int best = 0;
  (void)raw;
  for (int i = 1; i < RESULTS; i++) if (out[i] > out[best]) best = i;
  return best;
}
