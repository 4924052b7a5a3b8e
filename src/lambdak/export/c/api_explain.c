
int model_explain_cells(const double *cells, @offset@int output, double *predictions, double *influence) {
  entry entries[COLUMNS];
  double raw[OUTPUTS];
  const int bad = score(cells, @given@, entries, raw);
  if (bad) return bad;
  if (output < -1 || output >= OUTPUTS) return MODEL_BAD_OUTPUT;
  if (output < 0) {
    output = JOINT ? 0 : OUTPUTS / 2;
    for (int i = 1; JOINT && i < OUTPUTS; i++) if (raw[i] > raw[output]) output = i;
  }
  inverse_link(raw, predictions);
  influences(cells, entries, output, influence);
  return 0;
}

int model_explain(const model_row *row, @offset@int output, double *predictions, double *influence) {
  double cells[COLUMNS];
  model_cells(row, cells);
  return model_explain_cells(cells, @passed@output, predictions, influence);
}
