//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// postgres represents a PostgreSQL of a test: in a folder of its own, at a socket there, of a user that is not root.
type postgres struct {
	dir string
	n   atomic.Int64
}

// programOf returns a program of PostgreSQL, which Debian does not put into PATH.
func programOf(t testing.TB, name string) string {
	t.Helper()
	all, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err == nil && len(all) > 0 {
		return all[len(all)-1]
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: scripts/install-test-deps.sh installs PostgreSQL", err)
	}
	return path
}

// unprivileged returns a user that PostgreSQL may run as; nil: this one.
func unprivileged(t testing.TB) (as *syscall.SysProcAttr, uid int) {
	t.Helper()
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{Setpgid: true}, os.Getuid()
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, err = strconv.Atoi(u.Uid)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Setpgid: true,
		Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), NoSetGroups: true}}, uid
}

// guarded runs a program and stops it when its input is closed: it ends with the test, however that ends.
const guarded = `"$@" & server=$!
cat >/dev/null
kill -QUIT $server
wait $server`

// startPostgres makes a database in a folder and starts it.
func startPostgres(t testing.TB) *postgres {
	t.Helper()
	dir, err := os.MkdirTemp("", "kwpg") // short: a socket's path is
	if err != nil {
		t.Fatal(err)
	}
	as, uid := unprivileged(t)
	if err := os.Chown(dir, uid, -1); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) (*exec.Cmd, *bytes.Buffer) {
		var said bytes.Buffer
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = dir, as, &said, &said
		cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+dir)
		return cmd, &said
	}
	data := filepath.Join(dir, "data")
	if made, said := run(programOf(t, "initdb"), "-D", data, "-U", "keywright", "-A", "trust", "-E", "UTF8",
		"--no-sync"); made.Run() != nil {
		t.Fatalf("initdb: %s", said)
	}
	cmd, said := run("sh", "-c", guarded, "sh", programOf(t, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "max_connections=60", "-c", "shared_buffers=16MB")
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = lifeline.Close()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	p := &postgres{dir: dir}
	db := p.open(t)
	deadline := time.Now().Add(time.Minute)
	for db.PingContext(t.Context()) != nil {
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL does not answer: %s", said)
		}
		wait(t, 50*time.Millisecond)
	}
	return p
}

// wait waits for a while between two looks.
func wait(t testing.TB, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	case <-time.After(d):
	}
}

// url returns that of the database, with a schema of one's own.
func (p *postgres) url(schema string) string {
	q := url.Values{"host": {p.dir}, "user": {"keywright"}}
	if schema != "" {
		q.Set("search_path", schema)
	}
	return "postgres:///postgres?" + q.Encode()
}

// open opens the database without a store.
func (p *postgres) open(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", p.url(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// fresh returns the name of a new and empty store.
func (p *postgres) fresh(t testing.TB) string {
	t.Helper()
	schema := fmt.Sprintf("s%d", p.n.Add(1))
	if _, err := p.open(t).ExecContext(context.Background(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	return p.url(schema)
}

// one returns the only number that a statement gives.
func one(t testing.TB, db *sql.DB, statement string) (n int64) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), statement).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
