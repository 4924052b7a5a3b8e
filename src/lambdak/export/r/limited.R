  LOWEST <- doubles("@lowest@")
  HIGHEST <- doubles("@highest@")
  limited <- function(x, low, high) pmin(pmax(x, low), high)

