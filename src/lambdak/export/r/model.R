# @title@
# raw score = start + scale * sum over members of weight * k-th eigenvalue of (constant + matrices of the cells).
# Written by lambdak @version@ for base R, 3.5 or later: source("@file@") makes the list @name@ of functions.
#
#   @name@$predict(data@offset_note@)    @meaning@
#   @name@$raw(data@offset_note@)        raw scores, before the link
@more_functions@#   @name@$columns, $results, $labels, $guarantees
#
# data is a data frame with these columns, in any order; NA is missing, NULL in a list:
@columns@@guarantees@
`@name@` <- local({
  # ---- constants: little-endian numbers in hexadecimal digits, and texts in UTF-8 after the number of their bytes ----

  bytes <- function(parts) {
    code <- utf8ToInt(paste(parts, collapse = ""))
    if (!length(code) || anyNA(code)) return(raw(0))
    digit <- code - ifelse(code > 57L, 87L, 48L)
    as.raw(16L * digit[c(TRUE, FALSE)] + digit[c(FALSE, TRUE)])
  }

  doubles <- function(parts, size = 8L) {
    own <- bytes(parts)
    readBin(own, "double", length(own) %/% size, size, endian = "little")
  }

  integers <- function(parts) {
    own <- bytes(parts)
    readBin(own, "integer", length(own) %/% 4L, 4L, endian = "little")
  }

  texts <- function(parts) {
    own <- bytes(parts)
    found <- character(0)
    at <- 0L
    while (at < length(own)) {
      n <- readBin(own[at + 1:4], "integer", 1L, 4L, endian = "little")
      text <- rawToChar(own[at + 4L + seq_len(n)])
      Encoding(text) <- "UTF-8"
      found[length(found) + 1L] <- text
      at <- at + 4L + n
    }
    found
  }

  DIM <- @dim@L
  SIZE <- @size@L
  MEMBERS <- @members@L
  DESIGN <- @design@L
  OUTPUTS <- @outputs@L
  SCALE <- doubles("@scale@")
  LARGEST <- 4.4942328371557893e+307
  LARGEST_OFFSET <- @largest_offset@
  COLUMNS <- texts(@column_names@)
  RESULTS <- texts(@result_names@)
  LABELS <- @labels@
  GUARANTEES <- texts(@guarantee_texts@)
  WEIGHTS <- doubles(@weights@)
  START <- doubles(@start@)
  CONSTANTS <- array(doubles(@constants@), c(SIZE, MEMBERS, @families@L))
  READS <- matrix(integers(@reads@), 4L) + 1L # block, family, eigenvalue and raw score
  BLOCKS <- lapply(list(@blocks@), function(parts) array(doubles(parts, @stored@L), c(SIZE, DESIGN, MEMBERS)))
  WHOLE <- matrix(integers(@whole@), 8L)
  NUMBERS <- matrix(doubles(@numbers@), 5L)
  KNOTS <- doubles(@knots@)
  TEXTS <- texts(@text_levels@)
  TEXT_OWNERS <- integers(@text_owners@)
  TEXT_IDS <- integers(@text_ids@)
  LEVELS <- doubles(@number_levels@)
  LEVEL_OWNERS <- integers(@number_owners@)
  LEVEL_IDS <- integers(@number_ids@)

  ENDS <- cumsum(ifelse(WHOLE[1L, ] == 0L, WHOLE[3L, ], 0L))
  ALL <- lapply(seq_along(COLUMNS), function(i) {
    own <- list(
      name = COLUMNS[i], kind = WHOLE[1L, i], first = WHOLE[2L, i], count = WHOLE[3L, i], missing = WHOLE[4L, i],
      unseen = WHOLE[5L, i], clamp = WHOLE[6L, i] > 0L, takes_text = WHOLE[7L, i] > 0L,
      takes_numbers = WHOLE[8L, i] > 0L, low = NUMBERS[1L, i], high = NUMBERS[2L, i], median = NUMBERS[3L, i],
      center = NUMBERS[4L, i], scale = NUMBERS[5L, i]
    )
    if (own$kind == 0L) own$knots <- KNOTS[ENDS[i] - own$count + seq_len(own$count)]
    mine <- TEXT_OWNERS == i - 1L
    own$texts <- TEXTS[mine]
    own$text_ids <- TEXT_IDS[mine]
    mine <- LEVEL_OWNERS == i - 1L
    own$levels <- LEVELS[mine]
    own$level_ids <- LEVEL_IDS[mine]
    own
  })

  # ---- cells: which matrices a row adds, and with what weights --------------------------------------------------------

  shown <- function(cell) if (is.character(cell)) encodeString(cell, quote = "\"") else format(cell)

  refuse <- function(own, what, cell, row, advice) {
    stop("column ", shown(own$name), " ", what, "; got ", shown(cell), " in row ", row, ": ", advice, call. = FALSE)
  }

  numbers_of <- function(own, cells) {
    if (is.list(cells)) cells <- unlist(cells)
    if (all(is.na(cells))) return(rep(NA_real_, length(cells)))
    if (!is.numeric(cells) && !is.logical(cells)) {
      row <- which(!is.na(cells))[1L]
      refuse(own, "must hold numbers", as.character(cells[row]), row, "convert it with as.numeric")
    }
    cells <- as.numeric(cells)
    large <- which(abs(cells) > LARGEST)
    if (length(large)) {
      refuse(own, "contains infinity or a value too large", cells[large[1L]], large[1L], "replace it with NA, which counts as missing, or with a finite cap")
    }
    cells
  }

  # Design columns of levels, -1 for none.
  ids_of <- function(own, cells, rows = seq_along(cells)) {
    if (is.list(cells)) {
      text <- vapply(cells, function(cell) is.character(cell) || is.factor(cell), NA)
      found <- integer(length(cells))
      found[text] <- ids_of(own, vapply(cells[text], as.character, ""), rows[text])
      found[!text] <- ids_of(own, as.numeric(unlist(cells[!text])), rows[!text])
      return(found)
    }
    if (is.factor(cells)) cells <- as.character(cells)
    gap <- is.na(cells)
    text <- is.character(cells)
    if (!all(gap) && !(if (text) own$takes_text else (is.numeric(cells) || is.logical(cells)) && own$takes_numbers)) {
      wanted <- if (!own$takes_text) "numbers" else if (own$takes_numbers) "texts or numbers" else "texts"
      at <- which(!gap)[1L]
      refuse(own, paste0("must hold ", wanted, ", as in training"), cells[at], rows[at], "convert it first")
    }
    found <- if (text) own$text_ids[match(enc2utf8(cells), own$texts)] else own$level_ids[match(as.numeric(cells), own$levels)]
    found[is.na(found)] <- own$unseen
    found[gap] <- own$missing
    found
  }

  # Of each row the design column, its weight and that of the next one.
  entries_of <- function(own, cells) {
    if (own$kind == 2L) return(list(first = ids_of(own, cells), weight = rep(1, length(cells)), following = rep(0, length(cells))))
    x <- numbers_of(own, cells)
    gap <- is.na(x)
    x[gap] <- own$median
    if (own$clamp) x <- pmin(pmax(x, own$low), own$high)
    first <- rep(own$first, length(x))
    weight <- rep(1, length(x))
    following <- rep(0, length(x))
    if (own$kind == 1L) {
      weight <- (x - own$center) / own$scale
    } else if (own$count > 1L) {
      piece <- findInterval(x, own$knots, all.inside = TRUE)
      following <- (x - own$knots[piece]) / (own$knots[piece + 1L] - own$knots[piece])
      weight <- 1 - following
      first <- first + piece - 1L
    }
    if (own$missing >= 0L) {
      first[gap] <- own$missing
      weight[gap] <- 1
      following[gap] <- 0
    }
    list(first = first, weight = weight, following = following)
  }

  cells_of <- function(data) {
    if (!is.data.frame(data)) stop("data must be a data frame; got ", class(data)[1L], call. = FALSE)
    at <- match(COLUMNS, enc2utf8(names(data)))
    if (anyNA(at)) {
      stop("data must have the columns of training; missing: ", paste(shown(COLUMNS[is.na(at)]), collapse = ", "), call. = FALSE)
    }
    Map(function(name, i) checked(name, data[[i]]), COLUMNS, at)
  }

  # A column as a vector, or as a list with one value for each row, in which NA is missing.
  checked <- function(name, cells) {
    refused <- function(...) stop("column ", shown(name), " ", ..., call. = FALSE)
    if (is.matrix(cells) && ncol(cells) == 1L) cells <- cells[, 1L] # as scale() returns it
    if (length(dim(cells)) > 1L) refused("must have one cell for each row; got ", ncol(cells), " columns: take one of them")
    if (inherits(cells, "integer64") && !isNamespaceLoaded("bit64")) {
      refused("holds integers of 64 bits, which base R misreads: call loadNamespace(\"bit64\") first")
    }
    if (!is.list(cells)) return(cells)
    many <- which(lengths(cells) > 1L)
    if (length(many)) refused("must have one value in a cell; got ", lengths(cells)[many[1L]], " in row ", many[1L])
    cells[lengths(cells) == 0L] <- NA
    cells
  }

  entries <- function(cells) Map(entries_of, ALL, cells)

  # ---- raw scores: start + scale * sum of weight * eigenvalue over the members ----------------------------------------

  OFF <- unlist(lapply(seq_len(DIM), function(i) c(rep(sqrt(0.5), i - 1L), 1)))
  PLACE <- unlist(lapply(seq_len(DIM), function(i) i + (seq_len(i) - 1L) * DIM)) # of packed entries in a matrix

  # The packed matrices of a member, (SIZE, rows), without the constant.
  added <- function(block, m, entries, rows) {
    sum <- matrix(0, SIZE, rows)
    own <- matrix(BLOCKS[[block]][, , m], SIZE)
    for (entry in entries) {
      used <- which(entry$first >= 0L)
      sum[, used] <- sum[, used] + own[, entry$first[used] + 1L, drop = FALSE] * rep(entry$weight[used], each = SIZE)
      used <- used[entry$following[used] != 0]
      sum[, used] <- sum[, used] + own[, entry$first[used] + 2L, drop = FALSE] * rep(entry$following[used], each = SIZE)
    }
    sum
  }

  unpacked <- function(packed) {
    a <- matrix(0, DIM, DIM)
    a[PLACE] <- packed * OFF
    a
  }

  # Eigenvalues of packed matrices (SIZE, rows), (wanted, rows), the smallest first; LAPACK reads the lower triangle.
  eigenvalues <- function(packed, wanted) {
    finite <- colSums(packed * 0) == 0
    found <- matrix(NaN, length(wanted), ncol(packed))
    for (j in which(finite %in% TRUE)) {
      values <- if (DIM == 1L) packed[, j] else rev(eigen(unpacked(packed[, j]), TRUE, TRUE)$values)
      found[, j] <- values[wanted]
    }
    found
  }

  scores <- function(entries, rows, offset) {
    if (!is.numeric(offset) || !length(offset) %in% c(1L, rows) || !isTRUE(all(abs(offset) <= LARGEST_OFFSET))) {
      stop("offset must be a finite number, or one for each of the ", rows, " rows", call. = FALSE)
    }
    raw <- matrix(0, rows, OUTPUTS)
    for (m in seq_len(MEMBERS)) {
      for (block in seq_along(BLOCKS)) {
        sum <- added(block, m, entries, rows)
        for (family in unique(READS[2L, READS[1L, ] == block])) {
          own <- READS[, READS[2L, ] == family, drop = FALSE]
          values <- eigenvalues(sum + CONSTANTS[, m, family], own[3L, ])
          raw[, own[4L, ]] <- raw[, own[4L, ], drop = FALSE] + WEIGHTS[m] * t(values)
        }
      }
    }
    rep(START, each = rows) + SCALE * raw + offset
  }

@link@
  # ---- what it offers -------------------------------------------------------------------------------------------------

  raw_of <- function(data, offset = 0) {
    cells <- cells_of(data)
    scores(entries(cells), nrow(data), offset)
  }

  named <- function(numbers, names) {
    colnames(numbers) <- names
    if (length(names) > 1L) numbers else numbers[, 1L]
  }

@functions@
})
