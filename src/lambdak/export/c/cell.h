/* A cell of a column whose levels are text and numbers: a number if `text` is NULL. */
typedef struct {
  const char *text;
  double number;
} model_cell;

