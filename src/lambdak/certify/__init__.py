"""What a model guarantees, with the numbers that prove it, and the search for counterexamples."""

from lambdak.certify.certificate import Certificate, Claim
from lambdak.certify.claims import certify
from lambdak.certify.search import Check, Verification, verify

__all__ = ["Certificate", "Check", "Claim", "Verification", "certify", "verify"]
