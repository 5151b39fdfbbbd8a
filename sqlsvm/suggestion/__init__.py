"""A query that is written for you: from the tables of a database, a label and a time."""
