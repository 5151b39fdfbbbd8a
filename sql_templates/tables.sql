-- The form of these tables: the highest number
CREATE TABLE sqlsvm.schema_version (
    version INTEGER NOT NULL PRIMARY KEY,  -- Counted up by each change of the tables
    installed_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP  -- When the tables took this form
);

INSERT INTO sqlsvm.schema_version (version) VALUES (1);

-- One row per model; the weights are in its versions
CREATE TABLE sqlsvm.models (
    name TEXT NOT NULL PRIMARY KEY,  -- Any text that is not empty
    last_version INTEGER NOT NULL,  -- The highest number ever given, also to versions that were dropped
    created_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP  -- When the first version was stored
);

-- One row per training: the certificate in columns, the whole model as JSON
CREATE TABLE sqlsvm.versions (
    name TEXT NOT NULL,  -- The model
    version INTEGER NOT NULL,  -- 1 for the first training of the model; a number is never given twice
    created_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP,  -- When it was stored
    engine TEXT NOT NULL,  -- The database that it was trained in
    query TEXT NOT NULL,  -- The query whose rows it was trained on
    label TEXT NOT NULL,  -- The column of the query that it predicts
    lam DOUBLE PRECISION NOT NULL,  -- lambda: the objective is the mean hinge loss + lambda |beta|^2
    solver TEXT NOT NULL,  -- dane, bundle or descent
    counting TEXT NOT NULL,  -- How rows were counted: exact, grid or sketch; or in memory
    join_rows DOUBLE PRECISION NOT NULL,  -- Rows of the query; their total weight if they have weights
    passes INTEGER NOT NULL,  -- Passes over the tables
    seconds DOUBLE PRECISION NOT NULL,  -- The time of the training
    objective DOUBLE PRECISION NOT NULL,  -- A lower bound on the objective of this model
    objective_upper DOUBLE PRECISION NOT NULL,  -- An upper bound on the objective of this model
    lower_bound DOUBLE PRECISION NOT NULL,  -- A lower bound on the objective of every model
    gap DOUBLE PRECISION NOT NULL,  -- (objective_upper - lower_bound) / objective_upper
    converged BOOLEAN NOT NULL,  -- Whether the gap reached the tolerance that was asked for
    body TEXT NOT NULL,  -- The whole model, weights included, as JSON; infinite numbers as the text "Infinity"
    PRIMARY KEY (name, version)
);

-- One row per pass of a training: the certificate after it
CREATE TABLE sqlsvm.iterations (
    name TEXT NOT NULL,  -- The model
    version INTEGER NOT NULL,  -- Its version
    pass INTEGER NOT NULL,  -- 1 for the first
    objective DOUBLE PRECISION,  -- A lower bound on the objective of the best model so far
    objective_upper DOUBLE PRECISION,  -- An upper bound on the objective of the best model so far
    lower_bound DOUBLE PRECISION,  -- A lower bound on the objective of every model
    gap DOUBLE PRECISION,  -- (objective_upper - lower_bound) / objective_upper
    buckets INTEGER,  -- The buckets per unit of the score; NULL if scores were counted exactly
    seconds DOUBLE PRECISION,  -- The time of the pass
    PRIMARY KEY (name, version, pass)
);

-- One row per unfinished training: train --resume continues it
CREATE TABLE sqlsvm.states (
    name TEXT NOT NULL PRIMARY KEY,  -- The name of the model that it trains
    saved_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP,  -- When the training ended
    body TEXT NOT NULL  -- Its passes and the facts that identify the training, as JSON
);
