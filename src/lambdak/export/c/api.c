/* ---- what the header offers ------------------------------------------------------------------------------------- */

static int score(const double *cells, double offset, entry *entries, double *raw) {
  const int bad = entries_of(cells, entries);
  if (bad) return bad;
  if (!(fabs(offset) <= LARGEST_OFFSET)) return MODEL_BAD_OFFSET;
  raw_scores(entries, offset, raw);
  return 0;
}

int model_raw_cells(const double *cells, @offset@double *raw) {
  entry entries[COLUMNS];
  return score(cells, @given@, entries, raw);
}

int model_predict_cells(const double *cells, @offset@double *predictions) {
  double raw[OUTPUTS];
  const int bad = model_raw_cells(cells, @passed@raw);
  if (!bad) inverse_link(raw, predictions);
  return bad;
}

void model_cells(const model_row *row, double *cells) {
@reading@
}

int model_raw(const model_row *row, @offset@double *raw) {
  double cells[COLUMNS];
  model_cells(row, cells);
  return model_raw_cells(cells, @passed@raw);
}

int model_predict(const model_row *row, @offset@double *predictions) {
  double cells[COLUMNS];
  model_cells(row, cells);
  return model_predict_cells(cells, @passed@predictions);
}
