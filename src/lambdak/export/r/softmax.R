  inverse_link <- function(raw) {
    shares <- exp(raw - do.call(pmax, lapply(seq_len(OUTPUTS), function(i) raw[, i])))
    shares / rowSums(shares)
  }

