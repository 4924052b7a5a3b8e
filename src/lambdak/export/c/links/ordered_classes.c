static void inverse_link(const double *raw, double *out) {
  double below = -INFINITY;
  for (int i = 0; i <= OUTPUTS; i++) { /* neighbours may cross by rounding */
    const double above = i == OUTPUTS ? INFINITY : raw[i] > below ? raw[i] : below;
    out[i] = logistic(above) * logistic(-below) * -expm1(below - above);
    below = above;
  }
}
