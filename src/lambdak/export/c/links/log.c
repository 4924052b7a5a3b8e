static void inverse_link(const double *raw, double *out) { out[0] = limited(exp(raw[0] < EXPONENT_LIMIT ? raw[0] : EXPONENT_LIMIT), LOWEST, HIGHEST); }
