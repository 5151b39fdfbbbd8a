-- x and the label y are 1 or -1, and y = x in three of four rows. Each row meets z = 1 and z = -1 on k.
CREATE TEMPORARY TABLE left_of_sqlsvm_check ON COMMIT DROP AS
SELECT k, x, CASE WHEN n = 1 THEN -x ELSE x END AS y
FROM generate_series(1, 5) AS k, unnest(ARRAY[-1, 1]) AS x, generate_series(1, 4) AS n;

CREATE TEMPORARY TABLE right_of_sqlsvm_check ON COMMIT DROP AS
SELECT k, z FROM generate_series(1, 5) AS k, unnest(ARRAY[-1, 1]) AS z, generate_series(1, 3) AS n;
