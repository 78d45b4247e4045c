package inspect

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

// A checkpoint that would not be read is not written: the last one stays, the audit goes
// on, and says so once.
func TestLargeCheckpointIsNotWritten(t *testing.T) {
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\nowner: o\nkeys:\n  a: {key: a, type: set, ttl: 1d}\n")}}, "k.yaml")
	if len(found) > 0 {
		t.Fatal(found)
	}
	begin := func() *audit.Audit {
		fold, err := audit.New(ks, audit.Options{Top: 100, Examples: 100})
		if err != nil {
			t.Fatal(err)
		}
		return fold
	}
	var said bytes.Buffer
	c := &checkpointing{path: filepath.Join(t.TempDir(), "c"), fold: begin(), most: 8 << 10,
		now: func() time.Time { return time.Time{} },
		say: func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }}
	if err := c.save(server.Position{Keys: 7}); err != nil || !c.wrote || said.Len() > 0 {
		t.Fatal(err, said.String())
	}
	before, err := os.ReadFile(c.path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		c.fold.Add([]source.Key{{Name: fmt.Appendf(bytes.Repeat([]byte("x"), 100), "%d", i), Kind: source.String,
			TTL: source.NoTTL, Bytes: 1}})
	}
	for range 2 {
		if err := c.save(server.Position{Keys: 107}); err != nil {
			t.Fatal(err)
		}
	}
	if n := bytes.Count(said.Bytes(), []byte("no checkpoint is written any more")); n != 1 {
		t.Errorf("it was said %d times: %s", n, said.String())
	}
	if after, err := os.ReadFile(c.path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the checkpoint was replaced: %v", err)
	}
	c.fold = begin()
	if at, err := c.read(); err != nil || at == nil || at.Keys != 7 {
		t.Errorf("%+v, %v", at, err)
	}
}

// Text that has too many objects is as unreadable as one that has too many bytes.
func TestTooLarge(t *testing.T) {
	objects := append(bytes.Repeat([]byte("{},"), maxMade+1), "{}]"...)
	for name, text := range map[string][]byte{"objects": append([]byte("["), objects...),
		"bytes": bytes.Repeat([]byte(" "), maxCheckpoint+1)} {
		if !tooLarge(text) {
			t.Errorf("%s: not too large", name)
		}
	}
	if tooLarge([]byte("{}")) {
		t.Error("{} is too large")
	}
}
