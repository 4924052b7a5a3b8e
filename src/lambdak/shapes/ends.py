r"""Which end of the spectrum is read, and which way columns that work together move it along.

φ(s) = λ_d(M + s P) is convex in s, and λ_1 is concave. So φ(g_a + g_b) is supermodular in a and b if g_a and g_b go the
same way and φ is convex, or opposite ways and φ is concave; otherwise it is submodular. Every two columns of a shape
are thus an edge that says "the same way" or "opposite ways", and a set of shapes can hold with an end of the spectrum
if and only if its columns can be coloured by two directions that agree with all edges (Harary).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from lambdak.shapes.contract import Shape


def end_of_spectrum(shapes: Sequence[Shape], flip: int = 1, names: Sequence[str] = ()) -> int:
    """Return 1 if placed shapes need the last eigenvalue, -1 if the first, 0 if it may be any.

    ``flip`` is the sign of the loss. Where both would do it is the one that most columns ask for. If none does, the
    error calls columns by ``names``.
    """
    joint, bent = [own for own in shapes if own.joint], [own for own in shapes if own.end]
    together = {i for own in joint for i in own.positions}
    # A column that bends against the end that is read can only add a number, which leaves no joint effect.
    firm = [own for own in bent if not own.keys or together.intersection(own.positions)]
    votes = sum(own.end * max(len(own.keys), 1) for own in bent)
    if not joint:
        return (1 if votes >= 0 else -1) if bent else 0
    wanted = votes or flip * sum(own.joint for own in joint)
    for end in (1, -1) if wanted >= 0 else (-1, 1):
        if _coloured(joint, end, flip) is not None and all(own.end == end for own in firm):
            return end
    asked = ", ".join(repr(own.named(names) if names else own) for own in [*joint, *firm])
    raise ValueError(
        f"constraints contradict each other: no eigenvalue keeps all of {asked}: leave one out; pairs must not form a "
        "circle with an odd number of substitutes or of complements, and three columns are complements only where the "
        "raw score may be convex, substitutes only where it may be concave"
    )


def directions(shapes: Sequence[Shape], end: int, flip: int = 1) -> dict[int, int]:
    """Return position of each column that works together with others → which way its matrices go, 1 or -1."""
    found = _coloured([own for own in shapes if own.joint], end, flip)
    if found is None:
        raise ValueError(f"no directions keep all of {list(shapes)} at the {'last' if end > 0 else 'first'} eigenvalue")
    return found


def pattern_numbers(shapes: Sequence[Shape]) -> dict[int, int]:
    """Return position of each column that works together with others → the number of the pattern that they share."""
    groups: list[set[int]] = []
    for own in (own for own in shapes if own.joint):
        touched = [group for group in groups if group.intersection(own.positions)]
        groups = [group for group in groups if group not in touched] + [set(own.positions).union(*touched)]
    return {i: number for number, group in enumerate(sorted(groups, key=min)) for i in group}


def _coloured(joint: Sequence[Shape], end: int, flip: int) -> dict[int, int] | None:
    """A direction of every column such that every two of a shape go as they must; None if there is none."""
    edges = [(*pair, own.joint * end * flip) for own in joint for pair in permutations(own.positions, 2)]
    signs: dict[int, list[tuple[int, int]]] = {}
    for i, j, sign in edges:
        signs.setdefault(i, []).append((j, sign))
    found: dict[int, int] = {}
    for first in sorted(signs):
        found.setdefault(first, 1)
        reached = [first]
        while reached:
            i = reached.pop()
            for j, sign in signs[i]:
                if j not in found:
                    found[j] = sign * found[i]
                    reached.append(j)
    return found if all(found[i] * found[j] == sign for i, j, sign in edges) else None
