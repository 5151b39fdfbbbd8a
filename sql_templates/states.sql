CREATE TABLE sqlsvm.states (
    name TEXT NOT NULL PRIMARY KEY,
    saved_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP,
    body TEXT NOT NULL
);

COMMENT ON TABLE sqlsvm.states IS 'One row per unfinished training: train --resume continues it';
COMMENT ON COLUMN sqlsvm.states.name IS 'The name of the model that it trains';
COMMENT ON COLUMN sqlsvm.states.saved_at IS 'When the training ended';
COMMENT ON COLUMN sqlsvm.states.body IS 'Its passes and the facts that identify the training, as JSON';
