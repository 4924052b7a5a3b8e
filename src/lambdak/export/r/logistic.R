  logistic <- function(x) {
    small <- exp(-abs(x))
    ifelse(x < 0, small, 1) / (1 + small)
  }

