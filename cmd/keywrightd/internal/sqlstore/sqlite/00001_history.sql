-- +goose Up
CREATE TABLE keywright_history_target (
	id       INTEGER PRIMARY KEY,
	name     BLOB NOT NULL UNIQUE,
	first_at INTEGER,
	last_at  INTEGER
);
CREATE TABLE keywright_history_chunk (
	step   INTEGER NOT NULL, -- 0: as they came, 1: hours, 2: days
	begins INTEGER NOT NULL, -- seconds
	target INTEGER NOT NULL REFERENCES keywright_history_target (id),
	entry  BLOB NOT NULL,
	points BLOB NOT NULL,
	PRIMARY KEY (step, begins, target, entry)
);
CREATE INDEX keywright_history_entry ON keywright_history_chunk (target, step, entry, begins);
