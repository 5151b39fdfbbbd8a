"""Losses for a label that is a number; z = label - score."""

from dataclasses import replace

from sqlsvm.solve.loss.piecewise import Change, Piece, Piecewise

SQUARED = Piecewise(Piece(0.0, 0.0, 0.0, 1.0), (Change(0.0),), origin=None)  # z^2 / 2


def epsilon_insensitive(tube: float) -> Piecewise:
    """max(0, |z| - tube)"""
    return replace(SQUARED, start=Piece(-tube, 0.0, -1.0, 0.0), changes=_sides(Change(tube, jump=1.0)))


def squared_epsilon_insensitive(tube: float) -> Piecewise:
    """max(0, |z| - tube)^2"""
    return replace(SQUARED, start=Piece(-tube, 0.0, 0.0, 2.0), changes=_sides(Change(tube, bend=2.0)))


def quantile(share: float) -> Piecewise:
    """share z above 0, and (share - 1) z below"""
    return replace(SQUARED, start=Piece(0.0, 0.0, share - 1.0, 0.0), changes=(Change(0.0, jump=1.0),))


def absolute() -> Piecewise:
    """|z|"""
    return epsilon_insensitive(0.0)


def huber(delta: float) -> Piecewise:
    """z^2 / 2 up to |z| = delta, and delta |z| - delta^2 / 2 beyond"""
    start = Piece(-delta, delta * delta / 2.0, -delta, 0.0)
    return replace(SQUARED, start=start, changes=(Change(-delta, bend=1.0), Change(delta, bend=-1.0)))


def _sides(change: Change) -> tuple[Change, ...]:
    """The change beyond a tube, and that before it, which leads to 0."""
    if change.at == 0.0:
        return (replace(change, jump=2.0 * change.jump, bend=0.0),)
    return replace(change, at=-change.at, bend=-change.bend), change
