CREATE TABLE sqlsvm.states (
    name TEXT NOT NULL PRIMARY KEY,
    saved_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP,
    body TEXT NOT NULL
);

COMMENT ON TABLE sqlsvm.states IS 'One row a training that did not finish: what train --resume goes on from';
COMMENT ON COLUMN sqlsvm.states.name IS 'The model that it was to become';
COMMENT ON COLUMN sqlsvm.states.saved_at IS 'When the training ended';
COMMENT ON COLUMN sqlsvm.states.body IS 'Its passes and what they are of, as JSON';
