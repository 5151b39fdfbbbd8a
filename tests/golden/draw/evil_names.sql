CREATE TABLE "[red]table[/red]" AS SELECT i % 3 AS "key ""k""", i % 2 = 0 AS y, i AS "[bold]x" FROM RANGE(0, 6) AS r(i);
CREATE TABLE "order" AS SELECT i AS "Key", i AS "日本 :smile:" FROM RANGE(0, 3) AS r(i);
-- query
SELECT "[a]"."y", "[a]"."[bold]x", "b	tab‮"."日本 :smile:"
FROM "[red]table[/red]" AS "[a]" JOIN "order" AS "b	tab‮" ON "b	tab‮"."Key" = "[a]"."key ""k"""
