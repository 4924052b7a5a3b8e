"""What a model guarantees, with the numbers that prove it, and the search for counterexamples."""

from lambdak.certify.certificate import Certificate, Claim
from lambdak.certify.counterexamples import verify
from lambdak.certify.proofs import certify, promised
from lambdak.certify.verification import Check, Verification

__all__ = ["Certificate", "Check", "Claim", "Verification", "certify", "promised", "verify"]
