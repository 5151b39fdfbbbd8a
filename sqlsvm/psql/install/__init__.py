"""Install, upgrade and remove the SQL functions in PostgreSQL. check.py, which also trains, is imported separately."""

from sqlsvm.psql.install.found import FORMS, Found, look, own_version
from sqlsvm.psql.install.put import Removed, install, uninstall, upgrade

__all__ = ["FORMS", "Found", "Removed", "install", "look", "own_version", "uninstall", "upgrade"]
