  # ---- explanations: the slope of a raw score in each column, from the eigenvector ------------------------------------

  # Of each row a design column, its slope and that of the next one; -1 for none.
  slopes_of <- function(own, cells, entry) {
    rows <- length(entry$first)
    if (own$kind == 2L) return(entry)
    x <- numbers_of(own, cells)
    flat <- is.na(x) | (own$kind == 0L & own$count < 2L)
    if (own$clamp) flat <- flat | !(x >= own$low & x <= own$high & own$low < own$high)
    first <- ifelse(flat, -1L, entry$first)
    if (own$kind == 1L) return(list(first = first, weight = rep(1 / own$scale, rows), following = rep(0, rows)))
    rate <- 1 / diff(own$knots)[ifelse(flat, 1L, entry$first - own$first + 1L)]
    list(first = first, weight = -rate, following = rate)
  }

  influences <- function(data, output = NULL) {
    cells <- cells_of(data)
    own <- entries(cells)
    rows <- nrow(data)
    if (is.null(output)) {
      output <- rep(OUTPUTS %/% 2L + 1L, rows)
      if (@joint@) output <- max.col(scores(own, rows, 0), "first")
    }
    if (!all(output %in% seq_len(OUTPUTS))) stop("output must be from 1 to ", OUTPUTS, call. = FALSE)
    output <- rep_len(output, rows)
    slopes <- Map(slopes_of, ALL, cells, own)
    found <- matrix(0, rows, length(ALL), dimnames = list(NULL, COLUMNS))
    for (one in unique(output)) {
      at <- which(output == one)
      found[at, ] <- influence(lapply(own, part, at), lapply(slopes, part, at), READS[, READS[4L, ] == one], length(at))
    }
    found
  }

  part <- function(entry, at) lapply(entry, `[`, at)

  influence <- function(entries, slopes, read, rows) {
    found <- matrix(0, rows, length(ALL))
    for (m in seq_len(MEMBERS)) {
      packed <- added(read[1L], m, entries, rows) + CONSTANTS[, m, read[2L]]
      outer <- apply(packed, 2L, outer_product, read[3L])
      dim(outer) <- c(SIZE, rows)
      own <- matrix(BLOCKS[[read[1L]]][, , m], SIZE)
      for (i in seq_along(slopes)) {
        entry <- slopes[[i]]
        used <- which(entry$first >= 0L)
        here <- colSums(outer[, used, drop = FALSE] * own[, entry$first[used] + 1L, drop = FALSE]) * entry$weight[used]
        more <- used[entry$following[used] != 0]
        there <- colSums(outer[, more, drop = FALSE] * own[, entry$first[more] + 2L, drop = FALSE]) * entry$following[more]
        found[used, i] <- found[used, i] + SCALE * WEIGHTS[m] * here
        found[more, i] <- found[more, i] + SCALE * WEIGHTS[m] * there
      }
      found[colSums(outer * 0) != 0 | is.na(colSums(outer)), ] <- NaN
    }
    found
  }

  # v t(v) of an eigenvalue in packed coordinates; NaN where another one is too close for it to mean anything.
  outer_product <- function(packed, k) {
    if (!all(is.finite(packed))) return(rep(NaN, SIZE))
    found <- eigen(unpacked(packed), TRUE)
    value <- found$values[DIM + 1L - k]
    if (sum(abs(found$values - value) <= @repeated@ * max(abs(found$values))) > 1L) return(rep(NaN, SIZE))
    v <- found$vectors[, DIM + 1L - k]
    (v %o% v)[PLACE] / OFF
  }

