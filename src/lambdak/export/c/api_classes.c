
int model_class_of(const double *raw) {
  double out[RESULTS];
  inverse_link(raw, out);
  return class_of(raw, out);
}
