"""`sqlsvm demo`: make the tables of a small shop whose join is large, and explain each step."""

from sqlsvm.demo.make import LABEL, MODEL, QUERY, QUERY_FILE, SCHEMA, Shop, introduction, make, next_steps
from sqlsvm.demo.shop import shop

__all__ = ["LABEL", "MODEL", "QUERY", "QUERY_FILE", "SCHEMA", "Shop", "introduction", "make", "next_steps", "shop"]
