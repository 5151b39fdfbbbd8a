CREATE TABLE airlines (carrier VARCHAR(2) PRIMARY KEY, fleet INT);
CREATE TABLE weather (origin TEXT, hour TIMESTAMPTZ, temp NUMERIC(4, 1), foggy BOOLEAN);
CREATE TABLE flights (carrier CHAR(2), origin TEXT, hour TIMESTAMPTZ, delay INT, distance REAL, cancelled BOOLEAN);
INSERT INTO airlines VALUES ('UA', 3), ('AA', 5), ('ZZ', 0);
INSERT INTO weather VALUES ('JFK', '2013-01-01 05:00+00', 39.0, FALSE), ('JFK', '2013-01-01 06:00+00', 39.2, NULL);
INSERT INTO flights VALUES ('UA', 'JFK', '2013-01-01 05:00+00', 20, 1400, FALSE), ('AA', 'JFK', '2013-01-01 06:00+00', 3, 90, FALSE),
  ('AA', 'LGA', '2013-01-01 06:00+00', 30, 90, FALSE), ('UA', 'JFK', '2013-01-01 05:00+00', NULL, 1400, TRUE)
-- query
SELECT f.delay > 15 AS late, f.distance, f.origin, a.fleet, w.temp, w.foggy
FROM flights f JOIN airlines a ON a.carrier = f.carrier AND a.fleet > 0 AND a.fleet < 9
JOIN weather w ON w.origin = f.origin AND w.hour = f.hour
WHERE NOT f.cancelled
