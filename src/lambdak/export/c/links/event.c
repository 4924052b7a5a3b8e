static void inverse_link(const double *raw, double *out) {
  const double hazard = exp(raw[0] < EXPONENT_LIMIT ? raw[0] : EXPONENT_LIMIT);
  out[0] = limited(exp(-hazard), 1 - HIGHEST, 1 - LOWEST);
  out[1] = limited(-expm1(-hazard), LOWEST, HIGHEST);
}
