
/* Predictions, and by how much the raw score changes per unit of each column (MODEL_COLUMNS), to the right of a knot; of
   a category, how much its level adds. All are NAN where the eigenvalue is repeated. `output` is the position of the raw
   score; -1 takes the class that is predicted, or the middle one of quantiles and cut-points. */
int model_explain(const model_row *row, @offset@int output, double *predictions, double *influence);
