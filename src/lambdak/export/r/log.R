  inverse_link <- function(raw) exp(pmin(raw, @exponent_limit@))

