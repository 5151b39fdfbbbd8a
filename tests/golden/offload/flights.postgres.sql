-- f
SELECT
  CAST("f"."distance" AS DOUBLE PRECISION) AS c0,
  o1.n AS c1,
  "f"."delay" > 15 AS c5,
  o3.n AS k0,
  o4.n AS k1,
  "f"."hour" AS k2
FROM "public".flights AS "f"
LEFT JOIN (
  SELECT v AS v, ROW_NUMBER() OVER (ORDER BY v) AS n
  FROM (
    SELECT DISTINCT v
    FROM (SELECT "f"."origin" AS v FROM "public".flights AS "f" WHERE NOT "f"."cancelled") AS r
    WHERE NOT v IS NULL
 ) AS d
) AS o1 ON "f"."origin" = o1.v
JOIN (
  SELECT v AS v, ROW_NUMBER() OVER (ORDER BY v) AS n
  FROM (
    SELECT DISTINCT v
    FROM (SELECT "a"."carrier" AS v FROM "public".airlines AS "a" WHERE "a"."fleet" > 0 AND "a"."fleet" < 9) AS r
    WHERE NOT v IS NULL
 ) AS d
) AS o3 ON "f"."carrier" = o3.v
JOIN (
  SELECT v AS v, ROW_NUMBER() OVER (ORDER BY v) AS n
  FROM (SELECT DISTINCT v FROM (SELECT "w"."origin" AS v FROM "public".weather AS "w") AS r WHERE NOT v IS NULL) AS d
) AS o4 ON "f"."origin" = o4.v
WHERE NOT "f"."cancelled" AND NOT "f"."hour" IS NULL;

-- a
SELECT "a"."fleet" AS c2, o1.n AS k0
FROM "public".airlines AS "a"
JOIN (
  SELECT v AS v, ROW_NUMBER() OVER (ORDER BY v) AS n
  FROM (
    SELECT DISTINCT v
    FROM (SELECT "a"."carrier" AS v FROM "public".airlines AS "a" WHERE "a"."fleet" > 0 AND "a"."fleet" < 9) AS r
    WHERE NOT v IS NULL
 ) AS d
) AS o1 ON "a"."carrier" = o1.v
WHERE "a"."fleet" > 0 AND "a"."fleet" < 9;

-- w
SELECT CAST("w"."temp" AS DOUBLE PRECISION) AS c3, "w"."foggy" AS c4, o2.n AS k1, "w"."hour" AS k2
FROM "public".weather AS "w"
JOIN (
  SELECT v AS v, ROW_NUMBER() OVER (ORDER BY v) AS n
  FROM (SELECT DISTINCT v FROM (SELECT "w"."origin" AS v FROM "public".weather AS "w") AS r WHERE NOT v IS NULL) AS d
) AS o2 ON "w"."origin" = o2.v
WHERE NOT "w"."hour" IS NULL;
