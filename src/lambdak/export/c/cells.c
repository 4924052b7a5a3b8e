/* ---- cells: which matrices a row adds, and with what weights ---------------------------------------------------- */

#define LARGEST 4.4942328371557893e+307 /* beyond it, the difference of two numbers may overflow */

typedef struct {
  int first;         /* a matrix, and the one after it if `next` is not zero; -1: none */
  double weight, next;
} entry;

static int is_number(double x) { return fabs(x) <= LARGEST; }

/* The piece of a curve that x is read on: a knot belongs to the piece on its right, the last one to that on its left. */
static int piece_of(const column *own, double x) {
  int low = 0;
  for (int left = own->count - 1; left > 1;) { /* without branches, which would be guessed wrong every other time */
    const int half = left / 2;
    low += x >= own->knots[low + half] ? half : 0;
    left -= half;
  }
  return low;
}

static entry matrix_entry(int matrix) {
  entry one = {0, 1, 0};
  one.first = matrix;
  return one;
}

static entry number_entry(const column *own, double x) {
  entry one = {0, 1, 0};
  one.first = own->first;
  if (own->clamp) x = x < own->low ? own->low : x > own->high ? own->high : x;
  if (own->kind == LINE) {
    one.weight = (x - own->center) / own->scale;
  } else if (own->count > 1) {
    const int piece = piece_of(own, x);
    const double t = (x - own->knots[piece]) / (own->knots[piece + 1] - own->knots[piece]);
    one.first += piece;
    one.weight = 1 - t;
    one.next = t;
  }
  return one;
}

static entry level_entry(const column *own, double code) {
  if (code != code) return matrix_entry(own->missing);
  return matrix_entry(code >= 0 && code < own->count ? own->first + (int)code : own->unseen);
}

/* The entries of a row; 0, or 1 + the position of a column whose cell is infinite or too large. */
static int entries_of(const double *cells, entry *entries) {
  for (int i = 0; i < COLUMNS; i++) {
    const column *own = &columns[i];
    const double x = cells[i];
    if (own->kind == CATEGORY) entries[i] = level_entry(own, x);
    else if (is_number(x)) entries[i] = number_entry(own, x);
    else if (x == x) return 1 + i;
    else if (own->missing >= 0) entries[i] = matrix_entry(own->missing);
    else entries[i] = number_entry(own, own->median);
  }
  return 0;
}

static int compare(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return (int)(unsigned char)*a - (int)(unsigned char)*b;
}

double model_level(int i, const char *text) {
  if (!text) return NAN;
  if (i < 0 || i >= COLUMNS || columns[i].kind != CATEGORY) return -1;
  const column *own = &columns[i];
  for (int low = 0, high = own->texts; low < high;) {
    const int middle = low + (high - low) / 2, order = compare(text, own->text[middle]);
    if (order == 0) return own->text_code[middle];
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return -1;
}

double model_number_level(int i, double number) {
  if (number != number) return NAN;
  if (i < 0 || i >= COLUMNS || columns[i].kind != CATEGORY) return -1;
  const column *own = &columns[i];
  for (int low = 0, high = own->numbers; low < high;) {
    const int middle = low + (high - low) / 2;
    if (number == own->number[middle]) return own->number_code[middle];
    if (number < own->number[middle]) high = middle;
    else low = middle + 1;
  }
  return -1;
}
