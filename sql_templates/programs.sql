-- One row per compiled query: sqlsvm.train makes a model of the same name
CREATE TABLE sqlsvm.programs (
    name text PRIMARY KEY,  -- Any text that is not empty
    compiled_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,  -- When sqlsvm compile stored it
    query text NOT NULL,  -- The query whose rows it trains on
    label text NOT NULL,  -- The column of the query that it predicts
    description jsonb NOT NULL,  -- The coordinates of theta and how join rows are counted
    options jsonb NOT NULL,  -- The options of sqlsvm compile: those of the training
    start jsonb  -- The optimum of a sample of the join when it was compiled, and the curvature there
);

-- The SQL of the programs, in the order in which it runs
CREATE TABLE sqlsvm.statements (
    program text NOT NULL REFERENCES sqlsvm.programs (name) ON DELETE CASCADE,  -- The program
    part text NOT NULL,  -- The part of the program that it belongs to: sources, prepare, checks, moments, pass, ...
    place integer NOT NULL,  -- Its place in the part, from 0
    name text NOT NULL,  -- What it makes
    working_table text,  -- The temporary table for its rows; NULL if they are an answer
    texts text[] NOT NULL,  -- What is executed: the statement, and for a working table its ANALYZE
    PRIMARY KEY (program, part, place)
);

-- The result of sqlsvm.train
CREATE TYPE sqlsvm.training AS (
    model text, version integer, passes integer, objective float8, objective_upper float8,
    lower_bound float8, gap float8, converged boolean, seconds float8
);

INSERT INTO sqlsvm.schema_version (version) VALUES (2);
