package restore_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/rdb/dump"
	"github.com/keywright/keywright/source/server"
)

// reading reads whole values of a server in one way or another.
type reading func(t testing.TB, s *kt.Server, largest int64, each func([]source.Content) error) (source.Summary, error)

var readings = map[string]reading{
	"a snapshot of a server": func(t testing.TB, s *kt.Server, largest int64,
		each func([]source.Content) error) (source.Summary, error) {
		config, err := connect.New(connect.Options{URL: s.URL()})
		must(t, err)
		begun := 0
		defer func() {
			if begun != 1 {
				t.Errorf("it began %d times", begun)
			}
		}()
		return server.NewSnapshot(config, server.SnapshotOptions{OnlyDB: -1}).Contents(t.Context(),
			server.ContentsRequest{Largest: largest,
				Begin: func(shards []source.Shard, now time.Time) error { begun += len(shards); return nil }}, each)
	},
	"a snapshot file": func(t testing.TB, s *kt.Server, largest int64, each func([]source.Content) error) (source.Summary,
		error) {
		s.Do("SAVE")
		text, err := os.ReadFile(filepath.Join(s.Dir, "dump.rdb"))
		must(t, err)
		return rdb.New(bytes.NewReader(text), rdb.Options{OnlyDB: -1}).Contents(t.Context(),
			rdb.ContentsRequest{Largest: largest}, each)
	},
}

// archiveOf makes an archive of what is read.
func archiveOf(t testing.TB, s *kt.Server, largest int64, read reading) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, archive.Meta{ID: "00"}, archive.Deflate)
	must(t, err)
	sum, err := read(t, s, largest, func(batch []source.Content) error {
		for i := range batch {
			r := archive.Of(&batch[i], archive.Undeclared)
			if err := w.Add(&r); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	if len(sum.Incomplete) > 0 {
		t.Errorf("%q", sum.Incomplete)
	}
	_, err = w.Close()
	must(t, err)
	return out.Bytes()
}

// fillGroups adds a stream with groups, consumers and entries that are pending.
func fillGroups(t testing.TB, clients restore.Clients, db int) {
	applytest.Do(t, clients, db, "XGROUP", "CREATE", "stream", "busy", "0")
	applytest.Do(t, clients, db, "XREADGROUP", "GROUP", "busy", "Ann", "COUNT", "7", "STREAMS", "stream", ">")
	applytest.Do(t, clients, db, "XREADGROUP", "GROUP", "busy", "Bob", "COUNT", "5", "STREAMS", "stream", ">")
	applytest.Do(t, clients, db, "XACK", "stream", "busy", "3-1")
	applytest.Do(t, clients, db, "XGROUP", "CREATECONSUMER", "stream", "busy", "idle")
}

// groups returns what streams have beside their entries, but for times.
func groups(t testing.TB, clients restore.Clients, db int) string {
	out := ""
	for _, key := range []string{"stream", "stream:empty"} {
		about := applytest.Do(t, clients, db, "XINFO", "STREAM", key)
		for _, name := range []string{"last-generated-id", "max-deleted-entry-id", "entries-added"} {
			out += fmt.Sprint(name, field(about, name), " ")
		}
	}
	list, _ := applytest.Do(t, clients, db, "XINFO", "GROUPS", "stream").([]any)
	for _, g := range list {
		for _, name := range []string{"name", "consumers", "pending", "last-delivered-id", "entries-read", "lag"} {
			out += fmt.Sprint(name, field(g, name), " ")
		}
		name := fmt.Sprint(field(g, "name"))
		pending, _ := applytest.Do(t, clients, db, "XPENDING", "stream", name, "-", "+", "1000").([]any)
		for _, p := range pending {
			e := p.([]any)
			out += fmt.Sprint(e[0], e[1], e[3], " ")
		}
	}
	return out
}

// field is one of a reply of names and values, as either protocol has it.
func field(reply any, name string) any {
	if m, ok := reply.(map[string]any); ok {
		return m[name]
	}
	list, _ := reply.([]any)
	for i := 0; i+1 < len(list); i += 2 {
		if list[i] == name {
			return list[i+1]
		}
	}
	return nil
}

// Every kind of value of a snapshot is restored as it was, to the millisecond, whole or
// in parts, between both brands and into a cluster.
func TestRestoredFromSnapshot(t *testing.T) {
	t.Parallel()
	for name, read := range readings {
		for _, from := range kt.Brands() {
			for _, to := range []string{"redis-server", "valkey-server", "cluster"} {
				for how, largest := range map[string]int64{"whole": 1 << 40, "in parts": 1} {
					way := strings.Join([]string{name, string(from), to, how}, "/")
					if !gate.All() && !slices.Contains([]string{"a snapshot of a server/redis-server/valkey-server/whole",
						"a snapshot of a server/valkey-server/cluster/in parts", "a snapshot file/valkey-server/redis-server/in parts",
						"a snapshot file/redis-server/redis-server/whole"}, way) {
						continue
					}
					t.Run(way, func(t *testing.T) {
						t.Parallel()
						s := kt.Start(t, from)
						sources := applytest.Open(t, s.URL())
						dbs := []int{0, 3}
						url := ""
						if to == "cluster" {
							dbs, url = dbs[:1], kt.StartCluster(t, kt.Valkey, 2, 0).URL()
						} else {
							url = kt.Start(t, kt.Brand(to)).URL()
						}
						for _, db := range dbs {
							applytest.Fill(t, sources, db)
							fillGroups(t, sources, db)
						}
						want, beside := applytest.Digest(t, s.URL(), sources), groups(t, sources, 0)
						file := archiveOf(t, s, largest, read)
						targets := applytest.Open(t, url)
						r, err := restore.Restore(t.Context(), targets, applytest.Records(file), restore.Options{})
						must(t, err)
						applytest.Adds(t, r)
						if r.Restored != int64(len(want)) {
							t.Fatalf("%+v", r)
						}
						same(t, want, applytest.Digest(t, url, targets))
						if got := groups(t, targets, 0); got != beside {
							t.Errorf("groups:\n%s\nnot\n%s", got, beside)
						}
					})
				}
			}
		}
	}
}

// A value that a snapshot has whole is, byte for byte, what DUMP returns.
func TestSnapshotIsDump(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, kt.Brands()) {
		s := kt.Start(t, brand)
		clients := applytest.Open(t, s.URL())
		applytest.Fill(t, clients, 0)
		compared := 0
		_, err := readings["a snapshot file"](t, s, 1<<40, func(batch []source.Content) error {
			for _, k := range batch {
				value, _ := s.Do("DUMP", string(k.Name)).(string)
				if k.Payload == nil || value[:len(value)-10] != string(k.Payload) || int(value[len(value)-10]) != k.RDB {
					t.Errorf("%s: %q is not what DUMP returns", brand, k.Name)
				}
				compared++
			}
			return nil
		})
		must(t, err)
		if compared != int(s.Do("DBSIZE").(int64)) {
			t.Errorf("%d keys", compared)
		}
	}
}

// Elements of a value are the same whether they are decoded from DUMP or from a snapshot.
func TestElementsOfDump(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	clients := applytest.Open(t, s.URL())
	applytest.Fill(t, clients, 0)
	inParts := map[string][]string{}
	_, err := readings["a snapshot file"](t, s, 1, func(batch []source.Content) error {
		for _, k := range batch {
			if k.Part == 0 {
				inParts[string(k.Name)] = nil
			}
			for _, e := range k.Elements {
				inParts[string(k.Name)] = append(inParts[string(k.Name)], string(e))
			}
		}
		return nil
	})
	must(t, err)
	for _, name := range slices.Sorted(maps.Keys(inParts)) {
		value, _ := s.Do("DUMP", name).(string)
		var got []string
		must(t, dump.Elements([]byte(value[:len(value)-10]), int(value[len(value)-10]), 0,
			func(elements [][]byte, more bool) error {
				for _, e := range elements {
					got = append(got, string(e))
				}
				return nil
			}))
		if !slices.Equal(got, inParts[name]) {
			t.Errorf("%q: %d elements, not %d", name, len(got), len(inParts[name]))
		}
	}
}
