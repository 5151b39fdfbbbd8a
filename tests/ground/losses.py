"""Losses by their pieces, with falling arms, knots and a least value above 0."""

from sqlsvm.solve.loss import Change, Piece, Piecewise

QUANTILE = Piecewise(Piece(0.0, 0.0, -0.1, 0.0), (Change(0.0, jump=1.0),))
TUBE = Piecewise(Piece(-0.3, 0.0, -1.0, 0.0), (Change(-0.3, jump=1.0), Change(0.3, jump=1.0)))
HUBER = Piecewise(Piece(-0.5, 0.125, -0.5, 0.0), (Change(-0.5, bend=1.0), Change(0.5, bend=-1.0)))
SQUARED = Piecewise(Piece(0.0, 0.0, 0.0, 1.0), (Change(0.0),))
MIXED = Piecewise(Piece(-1.0, 2.0, -3.0, 0.5), (Change(-1.0, 1.0, 1.5), Change(0.5, 0.25), Change(0.6, 2.0, -2.0)))
HIGH = Piecewise(Piece(-1.0, 2.0, -2.0, 0.0), (Change(-1.0, jump=2.0), Change(1.0, jump=2.0)))
"""|z - 1| + |z + 1|, which is 2 between its knots."""
