SELECT f.arr_delay > 15 AS late,
       f.time_hour, f.distance, f.hour, f.month, f.origin, f.dest,
       al.name AS airline,
       w.temp, w.humid, w.wind_speed, w.precip, w.pressure, w.visib,
       -- What was known at the airport two hours before: how long flights waited, and how many came late.
       (SELECT AVG(e.dep_delay) FROM flights e
        WHERE e.origin = f.origin
          AND e.time_hour BETWEEN f.time_hour - INTERVAL '4 hours' AND f.time_hour - INTERVAL '2 hours') AS waited_here,
       (SELECT AVG(CAST(e.arr_delay > 15 AS INT)) FROM flights e
        WHERE e.origin = f.origin
          AND e.time_hour BETWEEN f.time_hour - INTERVAL '12 hours' AND f.time_hour - INTERVAL '6 hours') AS late_here,
       -- The airline in the last 30 days, this flight number since January, and the last flight of the plane.
       (SELECT AVG(CAST(e.arr_delay > 15 AS INT)) FROM flights e
        WHERE e.carrier = f.carrier
          AND e.time_hour BETWEEN f.time_hour - INTERVAL '30 days' AND f.time_hour - INTERVAL '6 hours') AS late_airline,
       (SELECT AVG(CAST(e.arr_delay > 15 AS INT)) FROM flights e
        WHERE e.carrier = f.carrier AND e.flight = f.flight
          AND e.time_hour <= f.time_hour - INTERVAL '6 hours') AS late_number,
       (SELECT e.arr_delay FROM flights e
        WHERE e.tailnum = f.tailnum AND e.time_hour <= f.time_hour - INTERVAL '6 hours'
        ORDER BY e.time_hour DESC, e.sched_dep_time DESC LIMIT 1) AS plane_last
FROM flights f
JOIN airlines al ON al.carrier = f.carrier
JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
WHERE f.arr_delay IS NOT NULL
