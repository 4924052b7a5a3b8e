  inverse_link <- function(raw) cbind(logistic(-raw), logistic(raw))

