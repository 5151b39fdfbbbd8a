"""The tables of the demo's shop. They are small and always the same, and their join is large."""

import numpy as np

from sqlsvm.engine.base import Values

Table = dict[str, Values]

_CUSTOMERS, _PRODUCTS, _TAGS = 5_000, 2_000, 40
_ORDERS, _ITEMS, _VISITS = 40_000, 100_000, 185_000


def shop(seed: int = 0) -> dict[str, Table]:
    """The tables, by name. A few customers buy most, and a few products sell most.

    An item is returned if, with z for a standardised value and logistic noise u of scale 0.7,

        -0.4 + 0.8 z(price) + 0.9 [category = clothing] + 0.6 [channel = app] - 0.5 z(age)
             + 1.0 [the product has the tag 'fragile'] - 0.7 [express] + u  >  0.

    Quantity, discount, segment and visits have no influence.
    """
    rng = np.random.default_rng(seed)
    customers, products = _customers(rng), _products(rng)
    orders = {
        "id": np.arange(1, _ORDERS + 1),
        "customer_id": _some_null(rng, _zipf(rng, _CUSTOMERS, _ORDERS), 0.02),  # NULL: bought as a guest
        "channel": rng.choice(["web", "app", "store"], _ORDERS, p=[0.5, 0.3, 0.2]),
        "express": rng.random(_ORDERS) < 0.25,
    }
    product_tags = _product_tags(rng)
    items: Table = {
        "order_id": rng.integers(1, _ORDERS + 1, _ITEMS),
        "product_id": _zipf(rng, _PRODUCTS, _ITEMS, 0.7),
        "quantity": 1 + rng.geometric(0.6, _ITEMS),
        "discount": np.round(rng.beta(1, 6, _ITEMS), 2),
    }
    items["returned"] = _returned(rng, customers, products, product_tags, orders, items)
    return {
        "customers": {**customers, "age": _some_null(rng, customers["age"], 0.05)},
        "products": products,
        "tags": {"id": np.arange(1, _TAGS + 1), "tag": np.array(_tag_names())},
        "product_tags": product_tags,
        "orders": orders,
        "items": items,
        "visits": _visits(rng),
    }


def _customers(rng: np.random.Generator) -> Table:
    return {
        "id": np.arange(1, _CUSTOMERS + 1),
        "age": np.round(np.clip(rng.normal(42, 14, _CUSTOMERS), 18, 90)),
        "segment": rng.choice(["private", "family", "business"], _CUSTOMERS, p=[0.6, 0.3, 0.1]),
    }


def _products(rng: np.random.Generator) -> Table:
    return {
        "id": np.arange(1, _PRODUCTS + 1),
        "price": np.round(np.exp(rng.normal(3, 0.8, _PRODUCTS)), 2),
        "category": rng.choice(["clothing", "kitchen", "books", "garden", "toys"], _PRODUCTS),
    }


def _tag_names() -> list[str]:
    return ["fragile", "gift", "new", "sale", "eco", *(f"theme {n}" for n in range(6, _TAGS + 1))]


def _product_tags(rng: np.random.Generator) -> Table:
    """Up to six tags per product; a few products have none."""
    many = rng.choice(7, _PRODUCTS, p=[0.03, 0.12, 0.2, 0.25, 0.2, 0.12, 0.08])
    picked = [np.sort(rng.choice(_TAGS, n, replace=False) + 1) for n in many]
    return {"product_id": np.repeat(np.arange(1, _PRODUCTS + 1), many), "tag_id": np.concatenate(picked)}


def _visits(rng: np.random.Generator) -> Table:
    return {
        "customer_id": _some_null(rng, _zipf(rng, _CUSTOMERS, _VISITS), 0.1),  # NULL: not signed in
        "device": rng.choice(["phone", "laptop", "tablet"], _VISITS, p=[0.6, 0.3, 0.1]),
        "minutes": _some_null(rng, np.round(rng.exponential(6, _VISITS), 1), 0.03),
    }


def _returned(
    rng: np.random.Generator, customers: Table, products: Table, product_tags: Table, orders: Table, items: Table
) -> Values:
    order, product = items["order_id"] - 1, items["product_id"] - 1
    customer = np.array([0 if c is None else c - 1 for c in orders["customer_id"]])[order]
    fragile = np.isin(items["product_id"], product_tags["product_id"][product_tags["tag_id"] == 1])
    score = -0.4 + 0.8 * _standardised(products["price"])[product] - 0.5 * _standardised(customers["age"])[customer]
    score += 0.9 * (products["category"] == "clothing")[product] + 1.0 * fragile
    score += 0.6 * (orders["channel"] == "app")[order] - 0.7 * orders["express"][order]
    return np.asarray(score + rng.logistic(0, 0.7, _ITEMS) > 0)


def _standardised(values: Values) -> Values:
    return np.asarray((values - values.mean()) / values.std())


def _zipf(rng: np.random.Generator, kinds: int, size: int, exponent: float = 1.0) -> Values:
    """Random numbers from 1 to `kinds`; the frequency of k is proportional to k ** -exponent."""
    weights = np.arange(1, kinds + 1) ** -exponent
    return rng.choice(kinds, size, p=weights / weights.sum()) + 1


def _some_null(rng: np.random.Generator, values: Values, fraction: float) -> Values:
    cells = values.astype(object)
    cells[rng.random(len(values)) < fraction] = None
    return cells
