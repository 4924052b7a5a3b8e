  inverse_link <- function(raw) {
    hazard <- exp(pmin(raw, @exponent_limit@))
    cbind(limited(exp(-hazard), 1 - HIGHEST, 1 - LOWEST), limited(-expm1(-hazard), LOWEST, HIGHEST))
  }
