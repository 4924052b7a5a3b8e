// All eigenvectors of one tridiagonal matrix by the implicit QL algorithm, in double: for the few matrices whose
// clusters leave the fast path without an orthonormal set.
#pragma once
#include <cstdint>

namespace lambdak::LAMBDAK_ISA {

// d (n) becomes the eigenvalues, in no order; column j of z (n, n) the vector of d[j]. e (n) holds the n - 1
// off-diagonals and is lost. EISPACK's tql2, with a bound on its iterations that no finite matrix reaches.
inline void whole_spectrum(int n, double* d, double* e, double* z) {
  constexpr double epsilon = 2.220446049250313e-16;
  for (int i = 0; i < n * n; ++i) z[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
  e[n - 1] = 0;
  for (int l = 0; l < n; ++l) {
    for (int round = 0; round < 60; ++round) {
      int m = l;
      while (m + 1 < n && __builtin_fabs(e[m]) > epsilon * (__builtin_fabs(d[m]) + __builtin_fabs(d[m + 1]))) ++m;
      if (m == l) break;
      double g = (d[l + 1] - d[l]) / (2 * e[l]), r = __builtin_sqrt(g * g + 1);
      g = d[m] - d[l] + e[l] / (g + __builtin_copysign(r, g));
      double s = 1, c = 1, p = 0;
      int i = m - 1;
      for (; i >= l; --i) {
        double f = s * e[i];
        const double b = c * e[i];
        e[i + 1] = r = __builtin_sqrt(f * f + g * g);
        if (r == 0) {
          d[i + 1] -= p;
          e[m] = 0;
          break;
        }
        s = f / r, c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        for (int k = 0; k < n; ++k) {
          f = z[k * n + i + 1];
          z[k * n + i + 1] = s * z[k * n + i] + c * f;
          z[k * n + i] = c * z[k * n + i] - s * f;
        }
      }
      if (r == 0 && i >= l) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
}

}  // namespace lambdak::LAMBDAK_ISA
