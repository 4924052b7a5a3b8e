  inverse_link <- function(raw) cbind(limited(logistic(-raw), 1 - HIGHEST, 1 - LOWEST), limited(logistic(raw), LOWEST, HIGHEST))

