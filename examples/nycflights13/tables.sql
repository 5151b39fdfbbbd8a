CREATE TABLE airlines (carrier TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE airports (
  faa TEXT PRIMARY KEY, name TEXT, lat DOUBLE PRECISION, lon DOUBLE PRECISION, alt INT, tz INT, dst TEXT, tzone TEXT
);
CREATE TABLE planes (
  tailnum TEXT PRIMARY KEY, year INT, type TEXT, manufacturer TEXT, model TEXT, engines INT, seats INT, speed INT, engine TEXT
);
CREATE TABLE weather (
  origin TEXT, year INT, month INT, day INT, hour INT, temp DOUBLE PRECISION, dewp DOUBLE PRECISION, humid DOUBLE PRECISION,
  wind_dir INT, wind_speed DOUBLE PRECISION, wind_gust DOUBLE PRECISION, precip DOUBLE PRECISION, pressure DOUBLE PRECISION,
  visib DOUBLE PRECISION, time_hour TIMESTAMPTZ, PRIMARY KEY (origin, time_hour)
);
CREATE TABLE flights (
  year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT, arr_delay INT,
  carrier TEXT, flight INT, tailnum TEXT, origin TEXT, dest TEXT, air_time INT, distance INT, hour INT, minute INT,
  time_hour TIMESTAMPTZ
);
