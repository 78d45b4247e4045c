package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
)

// only leaves one database in what is read and expected, if one is named; one that a server
// lacks is refused before anything is read.
func (t *fleet) only(ctx context.Context, db int) error {
	if db < 0 {
		return nil
	}
	for _, sh := range t.shards {
		sh.dbs = map[int]int64{db: sh.dbs[db]}
	}
	return t.mustHave(ctx, db)
}

// mustHave refuses a database that one of the servers lacks, before anything is read.
func (t *fleet) mustHave(ctx context.Context, db int) error {
	for _, sh := range t.shards {
		what, err := sh.conn.lacks(ctx, db)
		if err != nil {
			return err
		}
		if what != "" {
			return &connect.ConfigError{What: what, Hint: "name another one: --db, or the number at the end of the URL"}
		}
	}
	return nil
}

// lacks says that the server has no such database, and how many it has; "" if it has it,
// or the user may not select it. Every server has database 0.
func (l *link) lacks(ctx context.Context, db int) (string, error) {
	if db <= 0 {
		return "", nil
	}
	_, err := l.ask(ctx, "SELECT", strconv.Itoa(db))
	var answer *wire.ServerError
	var refused *connect.ConfigError
	switch {
	case err == nil:
		_, err = l.ask(ctx, "SELECT", "0")
		return "", err
	case errors.As(err, &refused): // a cluster
		return refused.What, nil
	case !errors.As(err, &answer):
		return "", err
	case answer.Code == "NOPERM":
		return "", nil
	}
	reply, err := l.ask(ctx, "CONFIG", "GET", "databases")
	if err != nil && !denied(err) {
		return fmt.Sprintf("%s has no database %d", l.address, db), err
	}
	return fmt.Sprintf("%s has no database %d%s", l.address, db, countOf(reply)), nil
}

// countOf returns what the setting databases says, as the end of a sentence.
func countOf(reply any) string {
	pair, _ := reply.([]any)
	if len(pair) < 2 {
		return ""
	}
	n, err := strconv.Atoi(fmt.Sprint(pair[1]))
	switch {
	case err != nil || n < 1:
		return ""
	case n == 1:
		return ": it has one, 0"
	}
	return fmt.Sprintf(": it has %d, 0 to %d", n, n-1)
}
