{{ config(materialized='table') }}
SELECT n AS id, 1 + (n * 13) % 100 AS customer_id, CAST((n * 37) % 101 AS DOUBLE PRECISION) AS amount,
    (n * 37) % 101 + (n * 13 * 7) % 50 > 75 AS returned
FROM generate_series(1, 2000) AS s(n)
