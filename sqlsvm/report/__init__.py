"""A trained model as a page to read and to pass on: what was proven, what it was trained on, and how it does."""

from sqlsvm.report.gather import Report, gather, gather_from
from sqlsvm.report.page import GENERATOR, html

__all__ = ["GENERATOR", "Report", "gather", "gather_from", "html"]
