CREATE TABLE sqlsvm.schema_version (
    version INTEGER NOT NULL PRIMARY KEY,
    installed_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP
);

COMMENT ON TABLE sqlsvm.schema_version IS 'The form of these tables: the highest number';
COMMENT ON COLUMN sqlsvm.schema_version.version IS 'Counted up by each change of the tables';
COMMENT ON COLUMN sqlsvm.schema_version.installed_at IS 'When the tables took this form';

INSERT INTO sqlsvm.schema_version (version) VALUES (1);

CREATE TABLE sqlsvm.models (
    name TEXT NOT NULL PRIMARY KEY,
    last_version INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP
);

COMMENT ON TABLE sqlsvm.models IS 'One row per model; the weights are in its versions';
COMMENT ON COLUMN sqlsvm.models.name IS 'Any text that is not empty';
COMMENT ON COLUMN sqlsvm.models.last_version IS 'The highest number ever given, also to versions that were dropped';
COMMENT ON COLUMN sqlsvm.models.created_at IS 'When the first version was stored';

CREATE TABLE sqlsvm.versions (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP,
    engine TEXT NOT NULL,
    query TEXT NOT NULL,
    label TEXT NOT NULL,
    lam DOUBLE PRECISION NOT NULL,
    solver TEXT NOT NULL,
    counting TEXT NOT NULL,
    join_rows DOUBLE PRECISION NOT NULL,
    passes INTEGER NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    objective DOUBLE PRECISION NOT NULL,
    objective_upper DOUBLE PRECISION NOT NULL,
    lower_bound DOUBLE PRECISION NOT NULL,
    gap DOUBLE PRECISION NOT NULL,
    converged BOOLEAN NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (name, version)
);

COMMENT ON TABLE sqlsvm.versions IS 'One row per training: the certificate in columns, the whole model as JSON';
COMMENT ON COLUMN sqlsvm.versions.name IS 'The model';
COMMENT ON COLUMN sqlsvm.versions.version IS '1 for the first training of the model; a number is never given twice';
COMMENT ON COLUMN sqlsvm.versions.created_at IS 'When it was stored';
COMMENT ON COLUMN sqlsvm.versions.engine IS 'The database that it was trained in';
COMMENT ON COLUMN sqlsvm.versions.query IS 'The query whose rows it was trained on';
COMMENT ON COLUMN sqlsvm.versions.label IS 'The column of the query that it predicts';
COMMENT ON COLUMN sqlsvm.versions.lam IS 'lambda: the objective is the mean hinge loss + lambda |beta|^2';
COMMENT ON COLUMN sqlsvm.versions.solver IS 'dane, bundle or descent';
COMMENT ON COLUMN sqlsvm.versions.counting IS 'How rows were counted: exact, grid or sketch; or in memory';
COMMENT ON COLUMN sqlsvm.versions.join_rows IS 'Rows of the query; their total weight if they have weights';
COMMENT ON COLUMN sqlsvm.versions.passes IS 'Passes over the tables';
COMMENT ON COLUMN sqlsvm.versions.seconds IS 'The time of the training';
COMMENT ON COLUMN sqlsvm.versions.objective IS 'A lower bound on the objective of this model';
COMMENT ON COLUMN sqlsvm.versions.objective_upper IS 'An upper bound on the objective of this model';
COMMENT ON COLUMN sqlsvm.versions.lower_bound IS 'A lower bound on the objective of every model';
COMMENT ON COLUMN sqlsvm.versions.gap IS '(objective_upper - lower_bound) / objective_upper';
COMMENT ON COLUMN sqlsvm.versions.converged IS 'Whether the gap reached the tolerance that was asked for';
COMMENT ON COLUMN sqlsvm.versions.body IS 'The whole model, weights included, as JSON; infinite numbers as the text "Infinity"';

CREATE TABLE sqlsvm.iterations (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    pass INTEGER NOT NULL,
    objective DOUBLE PRECISION,
    objective_upper DOUBLE PRECISION,
    lower_bound DOUBLE PRECISION,
    gap DOUBLE PRECISION,
    buckets INTEGER,
    seconds DOUBLE PRECISION,
    PRIMARY KEY (name, version, pass)
);

COMMENT ON TABLE sqlsvm.iterations IS 'One row per pass of a training: the certificate after it';
COMMENT ON COLUMN sqlsvm.iterations.name IS 'The model';
COMMENT ON COLUMN sqlsvm.iterations.version IS 'Its version';
COMMENT ON COLUMN sqlsvm.iterations.pass IS '1 for the first';
COMMENT ON COLUMN sqlsvm.iterations.objective IS 'A lower bound on the objective of the best model so far';
COMMENT ON COLUMN sqlsvm.iterations.objective_upper IS 'An upper bound on the objective of the best model so far';
COMMENT ON COLUMN sqlsvm.iterations.lower_bound IS 'A lower bound on the objective of every model';
COMMENT ON COLUMN sqlsvm.iterations.gap IS '(objective_upper - lower_bound) / objective_upper';
COMMENT ON COLUMN sqlsvm.iterations.buckets IS 'The buckets per unit of the score; NULL if scores were counted exactly';
COMMENT ON COLUMN sqlsvm.iterations.seconds IS 'The time of the pass';

CREATE TABLE sqlsvm.states (
    name TEXT NOT NULL PRIMARY KEY,
    saved_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP,
    body TEXT NOT NULL
);

COMMENT ON TABLE sqlsvm.states IS 'One row per unfinished training: train --resume continues it';
COMMENT ON COLUMN sqlsvm.states.name IS 'The name of the model that it trains';
COMMENT ON COLUMN sqlsvm.states.saved_at IS 'When the training ended';
COMMENT ON COLUMN sqlsvm.states.body IS 'Its passes and the facts that identify the training, as JSON';
