-- +goose Up
CREATE TABLE keywright_history_target (
	id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name     BYTEA NOT NULL UNIQUE,
	first_at BIGINT,
	last_at  BIGINT
);
CREATE TABLE keywright_history_chunk (
	step   SMALLINT NOT NULL, -- 0: as they came, 1: hours, 2: days
	begins BIGINT NOT NULL, -- seconds
	target BIGINT NOT NULL REFERENCES keywright_history_target (id),
	entry  BYTEA NOT NULL,
	points BYTEA NOT NULL,
	PRIMARY KEY (step, begins, target, entry)
) WITH (fillfactor = 70); -- a chunk is written again with each point
CREATE INDEX keywright_history_entry ON keywright_history_chunk (target, step, entry, begins);
