"""`sqlsvm demo`: make the tables of a small shop whose join is large, and explain each step."""

from sqlsvm.demo.make import LABEL, MODEL, QUERY, QUERY_FILE, SCHEMA, Shop, make
from sqlsvm.demo.shop import shop
from sqlsvm.demo.story import introduction, next_steps

__all__ = [
    "LABEL",
    "MODEL",
    "QUERY",
    "QUERY_FILE",
    "SCHEMA",
    "Shop",
    "introduction",
    "make",
    "next_steps",
    "shop",
]
