-- A store of form 1 with two versions of a model, as pg_dump wrote it. It stays as it is: it is what people have.
SET standard_conforming_strings = on;

CREATE SCHEMA sqlsvm;

COMMENT ON SCHEMA sqlsvm IS 'Linear support vector machines that sqlsvm trained over joins';

CREATE TABLE sqlsvm.iterations (
    name text NOT NULL,
    version integer NOT NULL,
    pass integer NOT NULL,
    objective double precision,
    objective_upper double precision,
    lower_bound double precision,
    gap double precision,
    buckets integer,
    seconds double precision
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

CREATE TABLE sqlsvm.models (
    name text NOT NULL,
    last_version integer NOT NULL,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);

COMMENT ON TABLE sqlsvm.models IS 'One row per model; the weights are in its versions';

COMMENT ON COLUMN sqlsvm.models.name IS 'Any text that is not empty';

COMMENT ON COLUMN sqlsvm.models.last_version IS 'The highest number ever given, also to versions that were dropped';

COMMENT ON COLUMN sqlsvm.models.created_at IS 'When the first version was stored';

CREATE TABLE sqlsvm.schema_version (
    version integer NOT NULL,
    installed_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);

COMMENT ON TABLE sqlsvm.schema_version IS 'The form of these tables: the highest number';

COMMENT ON COLUMN sqlsvm.schema_version.version IS 'Counted up by each change of the tables';

COMMENT ON COLUMN sqlsvm.schema_version.installed_at IS 'When the tables took this form';

CREATE TABLE sqlsvm.states (
    name text NOT NULL,
    saved_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    body text NOT NULL
);

COMMENT ON TABLE sqlsvm.states IS 'One row per unfinished training: train --resume continues it';

COMMENT ON COLUMN sqlsvm.states.name IS 'The name of the model that it trains';

COMMENT ON COLUMN sqlsvm.states.saved_at IS 'When the training ended';

COMMENT ON COLUMN sqlsvm.states.body IS 'Its passes and the facts that identify the training, as JSON';

CREATE TABLE sqlsvm.versions (
    name text NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    engine text NOT NULL,
    query text NOT NULL,
    label text NOT NULL,
    lam double precision NOT NULL,
    solver text NOT NULL,
    counting text NOT NULL,
    join_rows double precision NOT NULL,
    passes integer NOT NULL,
    seconds double precision NOT NULL,
    objective double precision NOT NULL,
    objective_upper double precision NOT NULL,
    lower_bound double precision NOT NULL,
    gap double precision NOT NULL,
    converged boolean NOT NULL,
    body text NOT NULL
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

COMMENT ON COLUMN sqlsvm.versions.counting IS 'How rows were counted: exact, grid or sketch';

COMMENT ON COLUMN sqlsvm.versions.join_rows IS 'Rows of the query';

COMMENT ON COLUMN sqlsvm.versions.passes IS 'Passes over the tables';

COMMENT ON COLUMN sqlsvm.versions.seconds IS 'The time of the training';

COMMENT ON COLUMN sqlsvm.versions.objective IS 'A lower bound on the objective of this model';

COMMENT ON COLUMN sqlsvm.versions.objective_upper IS 'An upper bound on the objective of this model';

COMMENT ON COLUMN sqlsvm.versions.lower_bound IS 'A lower bound on the objective of every model';

COMMENT ON COLUMN sqlsvm.versions.gap IS '(objective_upper - lower_bound) / objective_upper';

COMMENT ON COLUMN sqlsvm.versions.converged IS 'Whether the gap reached the tolerance that was asked for';

COMMENT ON COLUMN sqlsvm.versions.body IS 'The whole model, weights included, as JSON; infinite numbers as the text "Infinity"';

INSERT INTO sqlsvm.iterations VALUES ('late', 1, 1, 0.4, 0.41, '-Infinity', 'Infinity', NULL, 0.25);
INSERT INTO sqlsvm.iterations VALUES ('late', 1, 2, 0.4, 0.41, 0.409016, 0.0024, 16, 0.25);
INSERT INTO sqlsvm.iterations VALUES ('late', 2, 1, 0.4, 0.41, '-Infinity', 'Infinity', NULL, 0.25);
INSERT INTO sqlsvm.iterations VALUES ('late', 2, 2, 0.4, 0.41, 0.409016, 0.0024, 16, 0.25);

INSERT INTO sqlsvm.models VALUES ('late', 2, '2026-11-21 14:11:42.102037+00');

INSERT INTO sqlsvm.schema_version VALUES (1, '2026-11-21 14:11:42.102037+00');

INSERT INTO sqlsvm.versions VALUES ('late', 1, '2026-11-21 14:11:42.102037+00', 'PostgreSQL 15.18', 'SELECT f.late, f.distance, f.carrier
FROM flights AS f', 'late', 0.0001, 'dane', 'exact', 1500000000000, 2, 0.8125, 0.4, 0.41, 0.409, 0.0024, true, '{"engine": "PostgreSQL 15.18", "query": "SELECT f.late, f.distance, f.carrier\nFROM flights AS f", "dialect": "postgres", "label": "late", "positive": null, "solver": "dane", "counting": "exact", "nulls": "mean", "bags": 2, "join_rows": 1500000000000.0, "label_rows": {"-1": 1000000000000.0, "1": 500000000000.0}, "passes": 2, "seconds": 0.8125, "objective": 0.4, "objective_upper": 0.41, "lower_bound": 0.409, "gap": 0.0024, "converged": true, "intercept": 0.5, "weights": [{"feature": "distance", "category": null, "weight": 0.001, "scaled_weight": 0.7, "missing": 1040.5}, {"feature": "heavy", "category": null, "weight": 0.25, "scaled_weight": 0.25, "missing": null}, {"feature": "carrier", "category": "UA", "weight": -0.2, "scaled_weight": -0.2, "missing": null}, {"feature": "carrier", "category": "Ünïted ''n'' \"Co\"", "weight": 0.3333333333333333, "scaled_weight": 0.3333333333333333, "missing": null}, {"feature": "carrier", "category": "NaN", "weight": 0.05, "scaled_weight": 0.05, "missing": null}, {"feature": "month", "category": 7, "weight": -1.5, "scaled_weight": -1.5, "missing": null}], "history": [{"pass": 1, "objective": 0.4, "objective_upper": 0.41, "lower_bound": "-Infinity", "gap": "Infinity", "buckets": null, "seconds": 0.25}, {"pass": 2, "objective": 0.4, "objective_upper": 0.41, "lower_bound": 0.409016, "gap": 0.0024, "buckets": 16, "seconds": 0.25}], "options": {"tol": 0.001, "seed": 0, "categorical": ["month"]}, "trained_on": {"sqlsvm": "0.1.0", "rows": {"f": 1000}}, "version": 1, "model": "late", "lambda": 0.0001, "features": 4}');
INSERT INTO sqlsvm.versions VALUES ('late', 2, '2026-11-21 14:11:42.157885+00', 'PostgreSQL 15.18', 'SELECT f.late, f.distance, f.carrier
FROM flights AS f', 'late', 0.0001, 'dane', 'exact', 1500000000000, 2, 0.8125, 0.4, 0.41, 0.409, 0.0024, true, '{"engine": "PostgreSQL 15.18", "query": "SELECT f.late, f.distance, f.carrier\nFROM flights AS f", "dialect": "postgres", "label": "late", "positive": null, "solver": "dane", "counting": "exact", "nulls": "mean", "bags": 2, "join_rows": 1500000000000.0, "label_rows": {"-1": 1000000000000.0, "1": 500000000000.0}, "passes": 2, "seconds": 0.8125, "objective": 0.4, "objective_upper": 0.41, "lower_bound": 0.409, "gap": 0.0024, "converged": true, "intercept": -0.1, "weights": [{"feature": "distance", "category": null, "weight": 0.001, "scaled_weight": 0.7, "missing": 1040.5}, {"feature": "heavy", "category": null, "weight": 0.25, "scaled_weight": 0.25, "missing": null}, {"feature": "carrier", "category": "UA", "weight": -0.2, "scaled_weight": -0.2, "missing": null}, {"feature": "carrier", "category": "Ünïted ''n'' \"Co\"", "weight": 0.3333333333333333, "scaled_weight": 0.3333333333333333, "missing": null}, {"feature": "carrier", "category": "NaN", "weight": 0.05, "scaled_weight": 0.05, "missing": null}, {"feature": "month", "category": 7, "weight": -1.5, "scaled_weight": -1.5, "missing": null}], "history": [{"pass": 1, "objective": 0.4, "objective_upper": 0.41, "lower_bound": "-Infinity", "gap": "Infinity", "buckets": null, "seconds": 0.25}, {"pass": 2, "objective": 0.4, "objective_upper": 0.41, "lower_bound": 0.409016, "gap": 0.0024, "buckets": 16, "seconds": 0.25}], "options": {"tol": 0.001, "seed": 0, "categorical": ["month"]}, "trained_on": {"sqlsvm": "0.1.0", "rows": {"f": 1000}}, "version": 2, "model": "late", "lambda": 0.0001, "features": 4}');

ALTER TABLE ONLY sqlsvm.iterations
    ADD CONSTRAINT iterations_pkey PRIMARY KEY (name, version, pass);

ALTER TABLE ONLY sqlsvm.models
    ADD CONSTRAINT models_pkey PRIMARY KEY (name);

ALTER TABLE ONLY sqlsvm.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (version);

ALTER TABLE ONLY sqlsvm.states
    ADD CONSTRAINT states_pkey PRIMARY KEY (name);

ALTER TABLE ONLY sqlsvm.versions
    ADD CONSTRAINT versions_pkey PRIMARY KEY (name, version);

ALTER TABLE ONLY sqlsvm.iterations
    ADD CONSTRAINT iterations_of_a_version FOREIGN KEY (name, version) REFERENCES sqlsvm.versions(name, version) ON DELETE CASCADE;

ALTER TABLE ONLY sqlsvm.versions
    ADD CONSTRAINT versions_of_a_model FOREIGN KEY (name) REFERENCES sqlsvm.models(name) ON DELETE CASCADE;
