/* ---- raw scores: start + scale * sum of weight * eigenvalue over the members ------------------------------------ */

#ifdef __cplusplus
#define ALONE
#else
#define ALONE restrict /* nothing else points there: loops over such arrays become vector instructions */
#endif

static void add_one(double *ALONE sum, const stored *ALONE own, double weight) {
  for (int n = 0; n < WIDTH; n++) sum[n] += weight * (double)own[n];
}

static void add_two(double *ALONE sum, const stored *ALONE own, double weight, double next) {
  for (int n = 0; n < WIDTH; n++) sum[n] += weight * (double)own[n] + next * (double)own[n + WIDTH];
}

static void add_up(const stored *own, const entry *entries, double sum[WIDTH]) {
  for (int n = 0; n < WIDTH; n++) sum[n] = 0;
  for (int i = 0; i < COLUMNS; i++) {
    const stored *const first = own + (size_t)(entries[i].first < 0 ? 0 : entries[i].first) * WIDTH;
    if (entries[i].next != 0) add_two(sum, first, entries[i].weight, entries[i].next);
    else if (entries[i].first >= 0) add_one(sum, first, entries[i].weight);
  }
}

static void raw_scores(const entry *entries, double offset, double *raw) {
  double sum[WIDTH], packed[WIDTH], value[MOST_READS][LANES], mean[OUTPUTS];
  for (int i = 0; i < OUTPUTS; i++) mean[i] = 0;
  for (int g = 0; g < GROUPS; g++) {
    add_up(matrices[g], entries, sum);
    for (int layer = 0; layer < LAYERS; layer++) {
      const eigenvalue *own = reads + first_read[layer];
      const int n = first_read[layer + 1] - first_read[layer];
      for (int i = 0; i < WIDTH; i++) packed[i] = constants[layer][g][i] + sum[i];
      eigenvalues(packed, own, n, value);
      EACH_LANE {
        const int at = g * LANES + l;
        if (at < BLOCKS * MEMBERS)
          for (int i = 0; i < n; i++) mean[own[i].output + at / MEMBERS] += weights[at % MEMBERS] * value[i][l];
      }
    }
  }
  for (int i = 0; i < OUTPUTS; i++) raw[i] = start[i] + SCALE * mean[i] + offset;
}
