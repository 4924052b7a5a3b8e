"""What the figures were computed with, and who signed the model's file."""

from __future__ import annotations

from lambdak.report.document import Note, Paragraph, Section, Table
from lambdak.report.findings import Findings
from lambdak.store import ClaimedSignature


def dossier(found: Findings) -> Section:
    """Versions and signature."""
    table = Table("Versions", ("", "Version"), tuple(found.versions.items()), left=(0, 1))
    return Section("versions", "Versions and signature", (table, *_signature(found)))


def _signature(found: Findings) -> tuple[Paragraph | Note | Table, ...]:
    own = found.file.signature
    if found.file.name is None:
        return (Paragraph("No model file was named, so that nothing can be said about a signature."),)
    if own is None:
        return (Paragraph(f"The model file {found.file.name} is not signed."),)
    rows = (("Signer", own.signer), ("Time", own.time.isoformat()), ("Fingerprint of the key", own.fingerprint))
    table = Table(f"Signature of {found.file.name}", ("", ""), rows, left=(0, 1))
    if isinstance(own, ClaimedSignature):
        words = "This is what the file says. It was not verified: give public_key, that of somebody you trust."
        return table, Note(words, "open")
    return table, Note("The signature was verified with the public key that was given.", "good")
