"""One eigenpair per GPU thread, in Triton: experimental, for nobody has measured it on a GPU.

The algorithm is that of ``eigen/native``, with a thread for a SIMD lane: matrices never talk to each other, and every
decision is a mask. Modules: ``lanes`` slots of memory and exact arithmetic; ``reduce`` to tridiagonal form; ``sturm``
eigenvalues; ``vectors``; ``spectrum`` whole spectra of hard lanes; ``kernels`` what is launched, by ``launch``;
``choice`` whether it is; ``hard`` the matrices it must solve first.
"""
