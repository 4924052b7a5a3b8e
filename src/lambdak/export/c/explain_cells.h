int model_explain_cells(const double *cells, @offset@int output, double *predictions, double *influence);
