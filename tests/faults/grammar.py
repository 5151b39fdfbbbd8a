"""Random queries over a small schema, most of them plain joins, and random damage to them."""

from random import Random

SCHEMA = """
CREATE TABLE a (id INT PRIMARY KEY, k INT, y INT, x FLOAT8, t TEXT);
CREATE TABLE b (id INT PRIMARY KEY, k INT, z FLOAT8, flag BOOLEAN, "Odd Name" INT);
CREATE TABLE c (k INT, j INT, w FLOAT8, d DATE);
INSERT INTO a VALUES (1, 1, 1, 0.5, 'u'), (2, 1, 0, -1, 'v'), (3, 2, 1, 2, NULL), (4, NULL, 0, 4, 'u');
INSERT INTO a VALUES (5, 3, 1, NULL, '');
INSERT INTO b VALUES (1, 1, 0.25, TRUE, 1), (2, 1, 1.5, FALSE, 2), (3, 2, NULL, NULL, 3), (4, 9, 8, TRUE, 4);
INSERT INTO c VALUES (1, 1, 0.5, '2020-01-01'), (1, 2, 1, '2020-02-01'), (2, 2, 3, NULL), (NULL, 1, 1, '2021-01-01')
"""
TABLES = ("a", "b", "c")
COLUMNS = {"a": ("id", "k", "x", "t"), "b": ("id", "k", "z", "flag", '"Odd Name"'), "c": ("k", "j", "w", "d")}
NUMBERS = {"a": ("id", "x"), "b": ("id", "z"), "c": ("j", "w")}
NASTY = (
    *(
        "'",
        '"',
        "$$",
        "E'\\'",
        "--",
        "/*",
        "*/",
        ";",
        "\\",
        "\x00",
        "\ufffe",
        "\u202e",
        "é",
        "🙂",
        "(",
        ")",
        "((((",
        "]",
    ),
    *(
        "; DROP TABLE a",
        "INTO z",
        "FOR UPDATE",
        "RETURNING *",
        "nextval('s')",
        "setval('s', 1)",
        "pg_sleep(9)",
        "random()",
    ),
    *(
        "now()",
        "pg_terminate_backend(1)",
        "lo_unlink(1)",
        "query_to_xml('DROP TABLE a', true, true, '')",
        "dblink('', '')",
    ),
    *(
        "TABLESAMPLE BERNOULLI (50)",
        "LATERAL (SELECT 1) AS l",
        "GROUP BY 1",
        "HAVING true",
        "LIMIT 1",
        "OFFSET 1",
        "DISTINCT",
    ),
    *(
        "UNION ALL SELECT 1",
        "OVER (ORDER BY 1)",
        "WITH RECURSIVE r AS (SELECT 1)",
        "WINDOW w AS ()",
        "ORDER BY 1",
        "$1",
        "?",
    ),
    *(":x", "@v", "1e400", "-1e400", "1e-400", "9" * 400, "0x1f", "1_000", "'1'::regclass", "NULL", "NaN", "ROW(1, 2)"),
    *("ARRAY[1]", "a.*", "*", "DEFAULT", "INSERT", "DELETE FROM a", "UPDATE a SET x = 1", "COPY a TO PROGRAM 'id'"),
    *("(DELETE FROM a RETURNING id)", "read_csv('/etc/passwd')", "'x.csv'", "getenv('HOME')", "CALL f()", "VACUUM"),
    *(
        "FULL JOIN b USING (k)",
        "RIGHT JOIN b USING (k)",
        "ON a.k < b.k",
        "NATURAL",
        "CROSS JOIN",
        "JOIN",
        "AS",
        "SELECT",
    ),
)


def query(chance: Random) -> str:
    """A join with a label y. It is often one that can be trained on."""
    tables = ["a", *chance.sample(TABLES, chance.randint(0, 2))]
    aliases = [f"r{n}" if chance.random() < 0.8 or tables.count(t) > 1 else t for n, t in enumerate(tables)]
    of = dict(zip(aliases, tables, strict=True))
    outputs = [f"{aliases[0]}.y", *(feature(chance, of, n) for n in range(chance.randint(1, 4)))]
    chance.shuffle(outputs)
    text = f"SELECT {', '.join(outputs)} FROM {item(chance, tables[0], aliases[0])}"
    for n in range(1, len(tables)):
        text += join(chance, tables[n], aliases[n], chance.choice(aliases[:n]), of)
    if chance.random() < 0.3:
        text += f" WHERE {condition(chance, of)}"
    return text


def item(chance: Random, table: str, alias: str) -> str:
    form = chance.random()
    if form < 0.75:
        return table if alias == table else f"{table} {chance.choice(['AS ', ''])}{alias}"
    where = f" WHERE {condition(chance, {table: table})}" if form < 0.85 else ""
    return f"(SELECT * FROM {table}{where}) AS {alias}"


def join(chance: Random, table: str, alias: str, other: str, of: dict[str, str]) -> str:
    kind = chance.choices(["JOIN", "LEFT JOIN", "CROSS JOIN", "INNER JOIN", "FULL JOIN"], [6, 3, 1, 1, 0.2])[0]
    target = item(chance, table, alias)
    if kind == "CROSS JOIN":
        return f" CROSS JOIN {target}"
    keys = [("k", "k"), ("id", "id"), ("id", "k"), ("k", "id")]
    mine, its = next((m, i) for m, i in chance.sample(keys, 4) if m in COLUMNS[of[other]] and i in COLUMNS[table])
    sign = "=" if chance.random() < 0.97 else "<"
    extra = f" AND {condition(chance, {alias: table})}" if chance.random() < 0.15 else ""
    return f" {kind} {target} ON {other}.{mine} {sign} {alias}.{its}{extra}"


def feature(chance: Random, of: dict[str, str], place: int) -> str:
    alias = chance.choice(list(of))
    column = f"{alias}.{chance.choice(COLUMNS[of[alias]])}"
    form = chance.random()
    if form < 0.5:
        return f"{column} AS f{place}"
    if form < 0.9:
        return f"{number(chance, of, alias, 2)} AS f{place}"
    other = chance.choice(list(of))
    return f"{number(chance, of, alias, 1)} {chance.choice('+-*/')} {number(chance, of, other, 1)} AS f{place}"


def number(chance: Random, of: dict[str, str], alias: str, depth: int) -> str:
    column = f"{alias}.{chance.choice(NUMBERS[of[alias]])}"
    if not depth or chance.random() < 0.3:
        return column
    inner = number(chance, of, alias, depth - 1)
    forms = ("({i} {o} {l})", "ABS({i})", "COALESCE({i}, {l})", "NULLIF({i}, {l})", "-{i}", "CAST({i} AS FLOAT8)")
    more = ("CASE WHEN {c} THEN {i} ELSE {l} END", "({i} {o} {j})", "LEAST({i}, {j})")
    return chance.choice((*forms, *more)).format(
        i=inner,
        j=number(chance, of, alias, 0),
        l=literal(chance),
        o=chance.choice("+-*/"),
        c=condition(chance, {alias: of[alias]}),
    )


def literal(chance: Random) -> str:
    return chance.choice(["0", "1", "-1", "2.5", "1e3", "1e308", "-0.0", "9223372036854775807", "1e-320", "NULL"])


def condition(chance: Random, of: dict[str, str]) -> str:
    alias = chance.choice(list(of))
    column = f"{alias}.{chance.choice(NUMBERS[of[alias]])}"
    forms = (
        "{c} > {l}",
        "{c} IS NOT NULL",
        "{c} IN (1, 2, {l})",
        "{c} BETWEEN 0 AND 3",
        "NOT {c} = {l}",
        "({c} < 3 OR {c} > 8)",
    )
    return chance.choice(forms).format(c=column, l=literal(chance))


def damaged(chance: Random, text: str) -> str:
    """One to four changes, by words or by characters."""
    for _ in range(chance.randint(1, 4)):
        by_words = chance.random() < 0.7
        parts = text.split(" ") if by_words else list(text)
        place = chance.randrange(len(parts)) if parts else 0
        match chance.randrange(5):
            case 0:
                parts[place : place + 1] = []
            case 1:
                parts[place:place] = [chance.choice(NASTY)]
            case 2:
                parts[place : place + 1] = [chance.choice(NASTY)]
            case 3:
                parts[place:place] = parts[place : place + chance.randint(1, 3)]
            case _:
                end = place + chance.randint(1, 4)
                parts[place:end] = reversed(parts[place:end])
        text = (" " if by_words else "").join(parts)
    return text
