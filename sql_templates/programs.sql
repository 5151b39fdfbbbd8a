CREATE TABLE sqlsvm.programs (
    name text PRIMARY KEY,
    compiled_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    query text NOT NULL,
    label text NOT NULL,
    description jsonb NOT NULL,
    options jsonb NOT NULL,
    start jsonb
);

COMMENT ON TABLE sqlsvm.programs IS 'One row per compiled query: sqlsvm.train makes a model of the same name';
COMMENT ON COLUMN sqlsvm.programs.name IS 'Any text that is not empty';
COMMENT ON COLUMN sqlsvm.programs.compiled_at IS 'When sqlsvm compile stored it';
COMMENT ON COLUMN sqlsvm.programs.query IS 'The query whose rows it trains on';
COMMENT ON COLUMN sqlsvm.programs.label IS 'The column of the query that it predicts';
COMMENT ON COLUMN sqlsvm.programs.description IS 'The coordinates of theta and how join rows are counted';
COMMENT ON COLUMN sqlsvm.programs.options IS 'The options of sqlsvm compile: those of the training';
COMMENT ON COLUMN sqlsvm.programs.start IS 'The optimum of a sample of the join when it was compiled, and the curvature there';

CREATE TABLE sqlsvm.statements (
    program text NOT NULL REFERENCES sqlsvm.programs (name) ON DELETE CASCADE,
    part text NOT NULL,
    place integer NOT NULL,
    name text NOT NULL,
    working_table text,
    texts text[] NOT NULL,
    PRIMARY KEY (program, part, place)
);

COMMENT ON TABLE sqlsvm.statements IS 'The SQL of the programs, in the order in which it runs';
COMMENT ON COLUMN sqlsvm.statements.program IS 'The program';
COMMENT ON COLUMN sqlsvm.statements.part IS 'The part of the program that it belongs to: sources, prepare, checks, moments, pass, ...';
COMMENT ON COLUMN sqlsvm.statements.place IS 'Its place in the part, from 0';
COMMENT ON COLUMN sqlsvm.statements.name IS 'What it makes';
COMMENT ON COLUMN sqlsvm.statements.working_table IS 'The temporary table for its rows; NULL if they are an answer';
COMMENT ON COLUMN sqlsvm.statements.texts IS 'What is executed: the statement, and for a working table its ANALYZE';

CREATE TYPE sqlsvm.training AS (
    model text, version integer, passes integer, objective float8, objective_upper float8,
    lower_bound float8, gap float8, converged boolean, seconds float8
);
COMMENT ON TYPE sqlsvm.training IS 'The result of sqlsvm.train';

INSERT INTO sqlsvm.schema_version (version) VALUES (2);
