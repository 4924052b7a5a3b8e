static void inverse_link(const double *raw, double *out) {
  out[0] = logistic(-raw[0]);
  out[1] = logistic(raw[0]);
}
