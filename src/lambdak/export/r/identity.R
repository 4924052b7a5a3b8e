  inverse_link <- function(raw) {
    for (i in seq_len(OUTPUTS)[-1L]) raw[, i] <- pmax(raw[, i], raw[, i - 1L]) # quantiles may cross by rounding
    limited(raw, LOWEST, HIGHEST)
  }

