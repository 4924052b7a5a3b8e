/* Classify the rows of wine.csv: alcohol, color_intensity, flavanoids, proline, and what Python predicted.

   usage: ./wine wine.csv */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wine.h"

/* The next cell of a line as a number; an empty one is missing, and so is one that the line no longer has. */
static double number(char **rest) {
  char *end = *rest;
  const double x = strtod(*rest, &end);
  const int empty = end == *rest;
  end += strcspn(end, ",");
  *rest = *end ? end + 1 : end;
  return empty ? NAN : x;
}

int main(int argc, char **argv) {
  char line[512];
  int wrong = 0;
  FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
  if (!file || !fgets(line, sizeof line, file)) return fprintf(stderr, "usage: ./wine wine.csv\n"), 2;
  while (fgets(line, sizeof line, file)) {
    char *rest = line;
    double raw[WINE_OUTPUTS], chances[WINE_RESULTS], influence[WINE_COLUMNS];
    wine_row row;
    row.alcohol = number(&rest);
    row.color_intensity = number(&rest);
    row.flavanoids = number(&rest);
    row.proline = number(&rest);
    rest[strcspn(rest, "\r\n")] = '\0';
    int bad = wine_raw(&row, raw);
    if (!bad) bad = wine_explain(&row, -1, chances, influence);
    if (bad) return fprintf(stderr, "column %s cannot be read\n", wine_column_names[bad - 1]), 1;
    const int found = wine_class_of(raw);
    printf("%-10s %5.1f %%   per unit:", wine_labels[found], 100 * chances[found]);
    for (int i = 0; i < WINE_COLUMNS; i++) printf(" %s %+.3g", wine_column_names[i], influence[i]);
    puts("");
    wrong += strcmp(rest, wine_labels[found]) != 0;
  }
  fclose(file);
  printf("%s\n", wrong ? "not as in Python" : "all as in Python");
  return wrong ? 1 : 0;
}
