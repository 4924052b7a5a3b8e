"""Which directions are sums of statements times positive numbers, and which statements follow from others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import nnls
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lambdak._types import Float64Array

Direction = Mapping[int, float]  # position of an input → by how much it moves

_CLOSE = 1e-9  # relative: what rounding leaves of a direction that is a sum of others


def following(asked: Sequence[Direction], statements: Sequence[Direction]) -> list[bool]:
    """Return of each direction whether it is a sum of statements times numbers that are not negative.

    All directions are asked about at once, in each group of inputs that statements connect.

    >>> following([{0: 1.0}, {1: -1.0}], [{0: 1.0, 1: -1.0}, {1: 2.0}])
    [True, False]
    """
    places = {i: place for place, i in enumerate(sorted({i for own in statements for i in own}))}
    found = np.array([all(i in places or not q for i, q in own.items()) for own in asked], dtype=bool)
    wide = _dense(asked, places)
    for inputs in _connected(statements):
        part = wide[:, [places[i] for i in inputs]]
        touching = found & part.any(axis=1)
        own_places = {i: place for place, i in enumerate(inputs)}
        cone = _dense([own for own in statements if own_places.keys() & own.keys()], own_places)
        found[touching] = _in_cone(part[touching], cone)
    answers: list[bool] = found.tolist()
    return answers


def distinct(statements: Sequence[Direction]) -> list[Direction]:
    """Return the statements that do not follow from the others."""
    kept = list({tuple(sorted(own.items())): own for own in statements if own}.values())
    if all(len(own) == 1 for own in kept):
        return kept
    implied: set[int] = set()
    for inputs in _connected(kept):
        places = {i: place for place, i in enumerate(inputs)}
        group = [n for n, own in enumerate(kept) if places.keys() & own.keys()]
        dense = _dense([kept[n] for n in group], places)
        edges = _edges(dense / np.abs(dense).max(axis=1, keepdims=True))
        implied |= {*group} - {group[n] for n in (_necessary(dense) if edges is None else edges)}
    return [own for n, own in enumerate(kept) if n not in implied]


def _connected(statements: Sequence[Direction]) -> list[list[int]]:
    """Return the groups of inputs that statements connect: a direction follows if its part in every group does."""
    named = sorted({i for own in statements for i in own})
    places = {i: place for place, i in enumerate(named)}
    if not named:
        return []
    rows, columns = zip(*[(places[i], places[min(own)]) for own in statements for i in own], strict=True)
    table = coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(named), len(named)))
    number, groups = connected_components(table, directed=False)
    return [[named[place] for place in np.flatnonzero(groups == group)] for group in range(number)]


def _dense(rows: Sequence[Direction], places: Mapping[int, int]) -> Float64Array:
    """Return directions as rows of a matrix whose columns are the inputs with a place."""
    dense = np.zeros((len(rows), len(places)))
    for row, own in zip(dense, rows, strict=True):
        for i, q in own.items():
            if i in places:
                row[places[i]] = q
    return dense


def _in_cone(asked: Float64Array, cone: Float64Array) -> NDArray[np.bool_]:
    """Return which rows are sums of others: of independent ones in one way only, which is found for all at once."""
    close = _CLOSE * np.abs(asked).max(axis=1, initial=0.0)
    cone = cone / np.abs(cone).max(axis=1, keepdims=True)
    if np.linalg.matrix_rank(cone) < len(cone):
        left = np.array([nnls(cone.T, row)[1] for row in asked])
        return np.asarray(left <= close)
    shares = np.linalg.lstsq(cone.T, asked.T)[0].T
    return np.asarray(np.linalg.norm(asked - shares.clip(0) @ cone, axis=1) <= close)


def _edges(rows: Float64Array) -> list[int] | None:
    """Return which rows span the cone of all, if these are independent; None if no such are found.

    Any basis is exchanged for them, one by one: a row that is a positive multiple of one of the basis minus a sum of
    others takes its place, because that one is then a sum of the row and the others.
    """
    rank = int(np.linalg.matrix_rank(rows))
    order: list[int] = qr(rows.T, mode="r", pivoting=True)[1].tolist()
    basis, others = order[:rank], np.array(order[rank:], dtype=np.intp)
    shares = np.linalg.lstsq(rows[basis].T, rows[others].T)[0].T  # (others, basis)
    while len(others):
        shares[np.abs(shares) <= _CLOSE * np.abs(shares).max(axis=1, keepdims=True)] = 0.0
        left = (shares < 0).any(axis=1)
        shares, others = shares[left], others[left]
        single = np.flatnonzero((shares > 0).sum(axis=1) == 1)
        if not len(single):
            return None if len(others) else basis
        own = single[0]
        place = int(shares[own].argmax())
        basis[place] = int(others[own])
        swapped = -shares[own] / shares[own, place]
        swapped[place] = 1 / shares[own, place]
        moved = shares[:, place, None] * swapped
        shares[:, place] = 0.0
        shares, others = np.delete(shares + moved, own, 0), np.delete(others, own)
    return basis


def _necessary(rows: Float64Array) -> list[int]:
    """Return rows that say as much as all together, none of which is a sum of others times positive numbers."""
    kept = list(range(len(rows)))
    for n in range(len(rows)):
        others = [other for other in kept if other != n]
        if _in_cone(rows[[n]], rows[others])[0]:
            kept = others
    return kept
