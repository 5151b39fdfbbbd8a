"""A trained model as an HTML page: what was proven, the data of the training, and how well it predicts."""

from sqlsvm.report.gather import Report, gather, gather_from
from sqlsvm.report.page import html
from sqlsvm.report.parts import GENERATOR
from sqlsvm.report.plots import path_charts

__all__ = ["GENERATOR", "Report", "gather", "gather_from", "html", "path_charts"]
