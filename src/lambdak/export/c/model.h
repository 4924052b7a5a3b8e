/* @title@
   Written by lambdak @version@; see @source@ for what is computed.

   - Nothing is allocated, nothing is changed but what you pass in: any number of threads may call at the same time.
   - A call takes about @stack@ of stack.
   - Raw scores equal those of lambdak to 1e-12, relative to the size of what they are the sum of.
   - NAN means missing: do not compile with -ffast-math or -ffinite-math-only.
   - Text is UTF-8, and is compared byte by byte.
@guarantees@*/
#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MODEL_COLUMNS = @columns@, /* of a row */
  MODEL_OUTPUTS = @outputs@, /* raw scores of a row */
  MODEL_RESULTS = @results@  /* predictions of a row: @meaning@ */
};

/* What functions return instead of 0 where a row cannot be scored; nothing is written then. A positive number is 1 + the
   position of a column whose number is infinite or larger than 4.4e307. */
enum { MODEL_BAD_OFFSET = -1, MODEL_BAD_OUTPUT = -2 };

/* Positions of the columns. */
enum {
@positions@
};

@cell@/* One row, a field for each column. */
typedef struct {
@fields@
} model_row;

/* Names as in training: of the columns, and of what is predicted. */
extern const char *const model_column_names[MODEL_COLUMNS];
extern const char *const model_result_names[MODEL_RESULTS];
@labels@
/* Predictions of a row (MODEL_RESULTS), and its raw scores before the link (MODEL_OUTPUTS).@offset_note@ */
int model_predict(const model_row *row, @offset@double *predictions);
int model_raw(const model_row *row, @offset@double *raw);
@explain@
/* The same in two steps, for rows that are arrays of numbers: cells (MODEL_COLUMNS) hold a number as it is and a level
   as its code, NAN where it is missing. A negative code stands for a level that training has not seen. */
void model_cells(const model_row *row, double *cells);
double model_level(int column, const char *text);         /* the code of a level that is text */
double model_number_level(int column, double number);     /* the code of a level that is a number; true is 1, false 0 */
int model_predict_cells(const double *cells, @offset@double *predictions);
int model_raw_cells(const double *cells, @offset@double *raw);
@explain_cells@
#ifdef __cplusplus
}
#endif

#endif
