/* @title@
   raw score = start + scale * sum over members of weight * k-th eigenvalue of (constant + matrices of the cells). */
#include "@header@"

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "NAN means missing: compile without -ffast-math and -ffinite-math-only"
#endif

@constants@

typedef @stored@ stored; /* what the matrices are kept in; all else is computed in double */

typedef struct {
  int index;        /* of the eigenvalue, counted from the smallest */
  int output;       /* the raw score it belongs to; with several blocks, that of the first */
  double position;  /* where it is expected, in standard deviations of all eigenvalues */
} eigenvalue;

enum { CURVE, LINE, CATEGORY };

typedef struct {
  int kind;
  int first, count;          /* its first matrix; how many knots or levels it has */
  int missing, unseen;       /* the matrix of such a cell; -1: none, which is the median of numbers, the average level */
  int clamp;                 /* whether numbers beyond low and high count as these */
  double low, high, median;
  double center, scale;      /* of a line: its weight is (x - center) / scale */
  const double *knots;
  int texts, numbers;        /* levels that are text and numbers, both sorted, and their codes */
  const char *const *text;
  const int *text_code;
  const double *number;
  const int *number_code;
} column;

@tables@
