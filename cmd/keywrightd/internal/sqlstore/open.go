// Package sqlstore is a history in a database: SQLite in a file for one program, PostgreSQL for many instances that
// share it. Both have the same tables, made and brought to a newer form by goose.
//
// It imports no driver: the program is linked with those that it needs.
package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/internal/history"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed sqlite/*.sql postgres/*.sql
var migrations embed.FS

// formTable is the table in which goose notes the form.
const formTable = "keywright_history_form"

// kind represents a kind of database.
type kind struct {
	scheme     string
	driver     string
	folder     string // of its migrations
	dialect    goose.Dialect
	forUpdate  string // what locks a row that is read
	connect    func(name string) (source string, held *os.File, err error)
	numbered   string // the sign before the number of a parameter
	sharedForm bool   // other programs may bring it to a newer form at the same time
	most       int    // connections
}

var kinds = []kind{
	{scheme: "sqlite:", driver: "sqlite", folder: "sqlite", dialect: goose.DialectSQLite3, connect: fileOf, numbered: "?",
		most: 4},
	{scheme: "postgres://", driver: "pgx", folder: "postgres", dialect: goose.DialectPostgres, forUpdate: " FOR UPDATE",
		connect: boundedURL, numbered: "$", sharedForm: true, most: 8},
	{scheme: "postgresql://", driver: "pgx", folder: "postgres", dialect: goose.DialectPostgres, forUpdate: " FOR UPDATE",
		connect: boundedURL, numbered: "$", sharedForm: true, most: 8},
}

// patience says how long a file may still be another program's: one whose parent was killed ends soon.
const patience = 5 * time.Second

// fileOf returns the name of a file as the driver takes it, and the lock that keeps other programs away. Only its owner
// may read a new file.
func fileOf(name string) (source string, held *os.File, err error) {
	path, err := filepath.Abs(strings.TrimPrefix(name, "sqlite:"))
	if err != nil || name == "sqlite:" {
		return "", nil, errors.New("write sqlite:FILE")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, err
	}
	if err := f.Close(); err != nil {
		return "", nil, err
	}
	if held, err = os.OpenFile(path+"-lock", os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return "", nil, err
	}
	if err := filelock.Wait(held, patience); err != nil {
		_ = held.Close()
		if errors.Is(err, filelock.ErrInUse) {
			err = history.ErrInUse
		}
		return "", nil, err
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path),
		RawQuery: url.Values{"_txlock": {"immediate"},
			"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)"}}.Encode()}
	return u.String(), held, nil
}

// boundedURL returns the URL of a PostgreSQL with bounds on how long it is waited for, unless it has them.
func boundedURL(name string) (source string, held *os.File, err error) {
	u, err := url.Parse(name)
	if err != nil {
		return "", nil, errors.New("the URL of PostgreSQL cannot be read: write postgres://user@host:5432/database")
	}
	q := u.Query()
	for key, value := range map[string]string{"connect_timeout": "10", "application_name": "keywrightd",
		"statement_timeout": "30000", "idle_in_transaction_session_timeout": "60000"} {
		if !q.Has(key) {
			q.Set(key, value)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil, nil
}

// Store represents a history in a database.
type Store struct {
	kind
	db   *sql.DB
	held *os.File // what keeps other programs away; nil: they share it

	turning sync.Mutex
	turns   *sql.Conn // the session that has the turns
}

// Open opens a history by its name (sqlite:FILE, postgres://…), and makes or renews its tables.
func Open(ctx context.Context, name string) (*Store, error) {
	for _, k := range kinds {
		if !strings.HasPrefix(name, k.scheme) {
			continue
		}
		source, held, err := k.connect(name)
		if err != nil {
			return nil, err
		}
		db, err := sql.Open(k.driver, source)
		if err != nil {
			_ = held.Close() // nothing, where it is nil
			return nil, fmt.Errorf("the history cannot be opened: %w", err)
		}
		db.SetMaxOpenConns(k.most)
		db.SetMaxIdleConns(k.most)
		db.SetConnMaxIdleTime(5 * time.Minute)
		s := &Store{kind: k, db: db, held: held}
		if err := s.renew(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("the history cannot be opened: %w", err), s.Close())
		}
		return s, nil
	}
	return nil, errors.New("write sqlite:FILE or postgres://user@host:5432/database")
}

// renew makes the tables, or brings them to the form of this program.
func (s *Store) renew(ctx context.Context) error {
	if err := s.db.PingContext(ctx); err != nil {
		return err
	}
	files, err := fs.Sub(migrations, s.folder)
	if err != nil {
		return err
	}
	options := []goose.ProviderOption{goose.WithTableName(formTable), goose.WithDisableGlobalRegistry(true)}
	if s.sharedForm {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	p, err := goose.NewProvider(s.dialect, s.db, files, options...)
	if err != nil {
		return err
	}
	is, knows, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if is > knows {
		return fmt.Errorf("it has the form %d, and this program knows %d: a newer keywrightd wrote it", is, knows)
	}
	if is < knows {
		_, err = p.Up(ctx)
	}
	return err
}

// Close closes the database; turns end.
func (s *Store) Close() error {
	s.turning.Lock()
	defer s.turning.Unlock()
	if s.turns != nil {
		s.dropTurns()
	}
	err := s.db.Close()
	if s.held != nil {
		err = errors.Join(err, s.held.Close())
	}
	return err
}

var (
	_ history.Store = (*Store)(nil)
	_ history.Turns = (*Store)(nil)
)
