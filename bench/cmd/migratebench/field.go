package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

const declaration = `keywright: 1
keys:
  text: {key: "s:{id}", type: string, value: json, ttl: none}
  item: {key: "h:{id}", type: hash, ttl: none, fields: {title: text, url: text, author: text, at: int, body: text}}
migrations:
  files:
    sources: {state: {file: state.json}}
    parts:
      all:
        moves:
          - MOVE
vars: {id: slug}
`

// kind names a kind of records.
type kind string

func (k kind) String() string { return string(k) }

var moves = map[kind]string{
	"strings": `{from: "state:/{id}", to: text, value: .}`,
	"hashes":  `{from: "state:/{id}", to: item}`,
}

// declared returns the migration of one kind of records.
func declared(kind kind) (*record.Map, error) {
	text := strings.Replace(declaration, "MOVE", moves[kind], 1)
	ks, err := harness.Declared([]byte(text))
	if err != nil {
		return nil, err
	}
	return record.Compile(ks.Migrations[0])
}

// write makes a file of records of 220 bytes, until there are so many or so many bytes.
func write(path string, records int, size int64) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriterSize(f, 1<<20)
	written := int64(0)
	for n := 0; n < records || written < size; n++ {
		sep := ",\n"
		if n == 0 {
			sep = "{"
		}
		k, err := fmt.Fprintf(out,
			`%s"r%d": {"title": "The %09d. story of the day", "url": "https://news.example.org/2026/11/%09d", `+
				`"author": "Ann Example", "at": %d, "body": "What is known of it by now, in a few words that fill the record %09d"}`,
			sep, n, n, n, 1795165200+n, n)
		if written += int64(k); err != nil {
			return err
		}
	}
	_, err = out.WriteString("}\n")
	return errors.Join(err, out.Flush())
}

// field represents a server and a migration of a folder.
type field struct {
	name   string
	server *live.Server
	client *keywright.Client
	m      *migrate.Migration
	root   string
	moves  *record.Map
}

func (f *field) String() string { return f.name }

// open makes a folder with records in a part that is in a phase.
func (o *options) open(ctx context.Context, server *live.Server, kind kind, records int, at phase.Phase) (f *field,
	err error) {
	f = &field{server: server}
	if f.root, err = os.MkdirTemp("", "keywright-migratebench-"); err != nil {
		return f, err
	}
	if err = write(filepath.Join(f.root, "state.json"), records, 0); err != nil {
		return f, err
	}
	return f, f.begin(ctx, kind, at)
}

func (f *field) begin(ctx context.Context, kind kind, at phase.Phase) (err error) {
	if f.moves, err = declared(kind); err != nil {
		return err
	}
	if f.client, err = keywright.Open(ctx, f.server.URL(), keywright.Options{NoCache: true}); err != nil {
		return err
	}
	f.m, err = migrate.Open(ctx, migrate.Config{Name: filepath.Base(f.root), Root: f.root, Map: f.moves, Client: f.client})
	if err != nil {
		return err
	}
	for is := phase.Off; is < at; is++ {
		if _, err := f.m.Advance(ctx, "all", migrate.ChangeOptions{Force: true}); err != nil {
			return err
		}
		if is == phase.DualWrite {
			if _, err := f.m.Import(ctx, "all", migrate.ImportOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *field) close() {
	if f.m != nil {
		_ = f.m.Close()
	}
	if f.client != nil {
		f.client.Close()
	}
	_ = os.RemoveAll(f.root)
}
