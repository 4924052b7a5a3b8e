"""What a model guarantees, with the numbers that prove it, and the search for counterexamples.

Modules: ``claim``, ``certificate``, ``summary`` of it in plain words and ``verification`` as data and in print;
``allowance`` what integers may do, ``proofs``, ``bound_claims``, ``exact_bounds``; ``counterexamples``: ``search``
the rows, ``cells`` to try, ``attack`` the contract and the guided search, ``monotone``, ``changes``, ``shapes``,
``orders`` one attack each, ``interactions`` proof and attack, ``shape_claims`` and ``shape_attack`` those of any other
shape; ``lambdak_check`` the independent checker: one file, nothing of lambdak in it.
"""

from lambdak.certify.certificate import Certificate, Claim
from lambdak.certify.counterexamples import verify
from lambdak.certify.proofs import certify, promised
from lambdak.certify.verification import Check, Verification

__all__ = ["Certificate", "Check", "Claim", "Verification", "certify", "promised", "verify"]
