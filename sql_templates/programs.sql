CREATE TABLE sqlsvm.programs (
    name text PRIMARY KEY,
    compiled_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    query text NOT NULL,
    label text NOT NULL,
    description jsonb NOT NULL,
    options jsonb NOT NULL
);

COMMENT ON TABLE sqlsvm.programs IS 'One row per compiled query: sqlsvm.train makes a model of the same name';
COMMENT ON COLUMN sqlsvm.programs.name IS 'Any text that is not empty';
COMMENT ON COLUMN sqlsvm.programs.compiled_at IS 'When sqlsvm compile stored it';
COMMENT ON COLUMN sqlsvm.programs.query IS 'The query whose rows it trains on';
COMMENT ON COLUMN sqlsvm.programs.label IS 'The column of the query that it predicts';
COMMENT ON COLUMN sqlsvm.programs.description IS 'The coordinates of theta and how join rows are counted';
COMMENT ON COLUMN sqlsvm.programs.options IS 'The options of sqlsvm compile: those of the training';

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
COMMENT ON COLUMN sqlsvm.statements.part IS 'The part of the program that it belongs to: sources, prepare, checks, moments, pass, sample, ...';
COMMENT ON COLUMN sqlsvm.statements.place IS 'Its place in the part, from 0';
COMMENT ON COLUMN sqlsvm.statements.name IS 'What it makes';
COMMENT ON COLUMN sqlsvm.statements.working_table IS 'The temporary table for its rows; NULL if they are an answer';
COMMENT ON COLUMN sqlsvm.statements.texts IS 'What is executed: the statement, and for a working table its ANALYZE';

-- The order is that of IN_ORDER in plan/parameters.py: $1 is theta, $2 is bound, and so on.
CREATE TYPE sqlsvm._given AS (
    theta float8[], bound float8, buckets float8, label float8, levels float8[], slack float8,
    shift float8, lowest float8, width float8, points float8[],
    weight_negative float8, weight_positive float8, density float8
);
COMMENT ON TYPE sqlsvm._given IS 'The parameters of the statements of a program';

CREATE TYPE sqlsvm._problem AS (
    program text, label text, design jsonb, nulls text, weight_negative float8, weight_positive float8,
    n float8, n_negative float8,
    size integer, dictionary integer[], total float8[], squares float8[], largest float8[], negative float8[],
    coordinates integer, dimension integer, constant integer,
    kept integer[], missing integer[], scale float8[], mean float8[], centre float8[]
);
COMMENT ON TYPE sqlsvm._problem IS 'A program with working tables: its moments and its scaling';

CREATE TYPE sqlsvm._cut AS (
    slope float8[], intercept float8, value_low float8, error float8, blur float8
);
COMMENT ON TYPE sqlsvm._cut IS 'R(b) >= intercept + slope.b for all b; at the point of the pass intercept + slope.b + blur = value_low <= R <= value_low + error';

CREATE TYPE sqlsvm._local AS (
    rows float8, numbers integer, dictionaries integer, dimension integer, squares float8[], lambda float8
);
COMMENT ON TYPE sqlsvm._local IS 'The sample in sqlsvm_local: its K rows, the mean of x^2 of each of its coordinates';

CREATE TYPE sqlsvm._tilted AS (
    local sqlsvm._local, start float8[], slope float8[], width float8
);
COMMENT ON TYPE sqlsvm._tilted IS 'The sample problem, tilted so that its slope at start is the slope of the cut of that width at start';

CREATE TYPE sqlsvm._state AS (
    pass integer, best integer, stalls integer, objective float8, objective_upper float8,
    bound float8, lower_bound float8, gap float8, gram float8[], offsets float8[], alpha float8[]
);
COMMENT ON TYPE sqlsvm._state IS 'A training after a pass: its best iterate, its proof, the dual of its bundle';

CREATE TYPE sqlsvm._seen AS (
    negatives float8, positives float8, true_positive float8[], false_positive float8[], auc float8[]
);
COMMENT ON TYPE sqlsvm._seen IS 'Counts of the scores of all rows; each array is value, lower bound, upper bound';

CREATE TYPE sqlsvm.training AS (
    model text, version integer, passes integer, objective float8, objective_upper float8,
    lower_bound float8, gap float8, converged boolean, seconds float8
);
COMMENT ON TYPE sqlsvm.training IS 'The result of sqlsvm.train';

INSERT INTO sqlsvm.schema_version (version) VALUES (2);
