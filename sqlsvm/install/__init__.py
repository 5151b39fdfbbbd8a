"""The SQL functions in PostgreSQL: in, up to date, and out again. What trains stands apart, in check.py."""

from sqlsvm.install.found import FORMS, Found, look, own_version
from sqlsvm.install.put import install, upgrade
from sqlsvm.install.remove import Removed, uninstall

__all__ = ["FORMS", "Found", "Removed", "install", "look", "own_version", "uninstall", "upgrade"]
