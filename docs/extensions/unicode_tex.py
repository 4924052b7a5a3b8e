"""A formula in Unicode, λ_k(A₀ + Σ x_i A_i), in TeX."""

from __future__ import annotations

import re

LETTERS = "αβγδεζηθκλμνξπρστφχψωℓΓΔΘΛΞΠΣΦΨΩ"
COMMANDS = """alpha beta gamma delta varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau varphi chi psi
omega ell Gamma Delta Theta Lambda Xi Pi sum Phi Psi Omega"""
GREEK = dict(zip(LETTERS, COMMANDS.split(), strict=True))
SIGNS = {
    "≤": r"\le", "≥": r"\ge", "⪰": r"\succeq", "⪯": r"\preceq", "∈": r"\in", "≠": r"\ne", "⊆": r"\subseteq",
    "·": r"\cdot", "×": r"\times", "−": "-", "±": r"\pm", "∓": r"\mp", "…": r"\dots", "⟨": r"\langle",
    "⟩": r"\rangle", "∫": r"\int", "→": r"\to", "∞": r"\infty", "½": r"\tfrac12", "¼": r"\tfrac14",
    "∂": r"\partial", "{": r"\{", "}": r"\}",
}  # fmt: skip
LOW = dict(zip("₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₙₘₗ₊₋", "0123456789ijknml+-", strict=True))
HIGH = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿˣʳᵖ", "0123456789-+nxrp", strict=True)) | {
    "ᵀ": r"\mathsf{T}",
    "ᴴ": r"\mathsf{H}",
    "↑": r"\uparrow",
}
FUNCTIONS = {"tr", "diag", "squareplus", "sym", "softmax", "softplus"}
LIMITS = {"max", "min", "log", "exp", "ln"}  # TeX knows them
WORDS = {"row", "start", "scale", "base", "reference", "threshold", "alpha"}


def tex(formula: str) -> str:
    """One formula in TeX."""
    text = re.sub(r"√\(([^()]*(?:\([^()]*\)[^()]*)*)\)", r"\\sqrt{\1}", formula)
    text = re.sub(r"√(‖[^‖]*‖|\w+)", r"\\sqrt{\1}", text)
    pieces: list[str] = []
    for part in re.finditer(
        r"\\sqrt\{|_\{[^}]*\}|\^\{[^}]*\}|\^[-−]?\d*\.\d+|[_^][-−]?[A-Za-z0-9α-ωΔ½¼]+|[A-Za-z]{2,}|.", text, re.DOTALL
    ):
        pieces.append(_piece(part[0], text, part.start()))
    for side in ("l", "r") * (text.count("‖") // 2):
        pieces[pieces.index("‖")] = rf"\{side}Vert "
    joined = re.sub(r"(\\mathrm\{\w+\}) ", r"\1\\,", "".join(pieces))
    joined = re.sub(r"(?<=[{^_])- ", "-", joined)
    return re.sub(r" (?=[_^)])|(?<= ) ", "", joined).strip()


def _piece(piece: str, text: str, place: int) -> str:
    if piece == r"\sqrt{":
        return piece
    if piece == "}" and text[:place].count(r"\sqrt{") > text[:place].count("}"):
        return piece
    if len(piece) > 1 and piece[0] in "_^":
        return f"{piece[0]}{{{_inner(piece[1:].strip('{}'))}}}"
    if len(piece) > 1:
        return _word(piece)
    for table, mark in ((LOW, "_"), (HIGH, "^")):
        if piece in table:
            return _hung(piece, table, mark, text, place)
    if piece in GREEK:
        return rf"\{GREEK[piece]} "
    return f"{SIGNS[piece]} " if piece in SIGNS else {"′": "'", "%": r"\%"}.get(piece, piece)


def _hung(piece: str, table: dict[str, str], mark: str, text: str, place: int) -> str:
    """A run of sub- or superscripts in one pair of braces; all but the first of a run were written with it."""
    if place and text[place - 1] in table:
        return ""
    run = re.match(f"[{''.join(table)}]+", text[place:])
    return f"{mark}{{{''.join(table[letter] for letter in run[0])}}}" if run else piece


def _inner(text: str) -> str:
    """What stands in a subscript or superscript."""
    if text in ("min", "max"):
        return rf"\mathrm{{{text}}}"
    return text if text.isascii() and len(text) <= 3 else tex(text)


def _word(word: str) -> str:
    if word in LIMITS:
        return rf"\{word} "
    if word in FUNCTIONS:
        return rf"\operatorname{{{word}}}"
    if word in WORDS:
        return rf"\mathrm{{{word}}}"
    return word if len(word) == 2 else rf"\mathit{{{word}}}"
