"""One eigenpair per lane in pure XLA, for any device that JAX has: experimental, for only CPUs have run it.

The algorithm is that of ``eigen/native``: arrays have their entries first and the matrices, one per lane, last, and
every decision is a mask. Nothing here is differentiated, that is ``lambdak.jax.eigen``'s. Modules: ``lanes`` numbers
and their bits; ``reduce`` to tridiagonal form; ``sturm`` eigenvalues; ``vectors``; ``spectrum`` whole spectra of hard
lanes; ``solve`` what callers use.
"""
