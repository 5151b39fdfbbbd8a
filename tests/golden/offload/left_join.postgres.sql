-- c
SELECT "c"."minutes" AS c0, "c"."churned" AS c3, o2.n AS m0_0, "c"."day" AS m0_1
FROM "public".calls AS "c"
LEFT JOIN (
  SELECT v AS v, ROW_NUMBER() OVER (ORDER BY v) AS n
  FROM (
    SELECT DISTINCT v
    FROM (SELECT "p"."code" AS v FROM "public".plans AS "p" WHERE "p"."rate" < 1) AS r
    WHERE NOT v IS NULL
 ) AS d
) AS o2 ON "c"."plan" = o2.v;

-- p
SELECT
  CAST(COALESCE("p"."rate", 1) AS DOUBLE PRECISION) AS c1,
  o1.n AS c2,
  o2.n AS m0_0,
  "p"."since" AS m0_1,
  CASE WHEN ("p"."name" IS NULL OR "p"."name" <> 'new') THEN TRUE ELSE FALSE END AS keep
FROM "public".plans AS "p"
LEFT JOIN (
  SELECT v AS v, ROW_NUMBER() OVER (ORDER BY v) AS n
  FROM (
    SELECT DISTINCT v
    FROM (
      SELECT v AS v
      FROM (
        SELECT COALESCE("p"."name", 'none') AS v
        FROM "public".plans AS "p"
        WHERE "p"."rate" < 1 AND ("p"."name" IS NULL OR "p"."name" <> 'new')
        UNION ALL
        SELECT COALESCE("p"."name", 'none') AS v
        FROM (SELECT 1 AS one) AS sqlsvm_one
        LEFT JOIN "public".plans AS "p" ON FALSE
        WHERE "p"."name" IS NULL OR "p"."name" <> 'new'
     ) AS u
   ) AS r
    WHERE NOT v IS NULL
 ) AS d
) AS o1 ON COALESCE("p"."name", 'none') = o1.v
LEFT JOIN (
  SELECT v AS v, ROW_NUMBER() OVER (ORDER BY v) AS n
  FROM (
    SELECT DISTINCT v
    FROM (SELECT "p"."code" AS v FROM "public".plans AS "p" WHERE "p"."rate" < 1) AS r
    WHERE NOT v IS NULL
 ) AS d
) AS o2 ON "p"."code" = o2.v
WHERE "p"."rate" < 1;
