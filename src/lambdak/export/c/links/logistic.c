static double logistic(double x) {
  const double small = exp(x < 0 ? x : -x);
  return (x < 0 ? small : 1) / (1 + small);
}
