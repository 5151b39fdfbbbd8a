"""`sqlsvm demo`: a small shop whose join is large, made in a database and told about."""

from sqlsvm.demo.make import LABEL, MODEL, QUERY, SCHEMA, Shop, make, schema_in
from sqlsvm.demo.shop import shop
from sqlsvm.demo.story import introduction, next_steps

__all__ = ["LABEL", "MODEL", "QUERY", "SCHEMA", "Shop", "introduction", "make", "next_steps", "schema_in", "shop"]
