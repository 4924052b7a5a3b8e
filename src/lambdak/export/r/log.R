  inverse_link <- function(raw) limited(exp(pmin(raw, @exponent_limit@)), LOWEST, HIGHEST)

