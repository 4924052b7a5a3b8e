static void inverse_link(const double *raw, double *out) {
  double top = raw[0], total = 0;
  for (int i = 1; i < OUTPUTS; i++) top = raw[i] > top ? raw[i] : top;
  for (int i = 0; i < OUTPUTS; i++) total += out[i] = exp(raw[i] - top);
  for (int i = 0; i < OUTPUTS; i++) out[i] /= total;
}
