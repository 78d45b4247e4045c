package entity

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/scripts"
	"github.com/keywright/keywright/keywrighttest"
)

// TestPutTexts: the text that is made of put.lua for an entity with all that one can
// have, and for one with as little as can be, is the one in testdata: the table of all
// scripts, in gen/acl, walks through it. KEYWRIGHT_UPDATE=1 writes it.
func TestPutTexts(t *testing.T) {
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
	full := noteSpec("n")
	full.OnCreate = []Event{{Mode: PublishSharded, Channel: "n:made", Data: []Part{{Name: "id"}}}}
	least := noteSpec("n")
	least.Version, least.Created, least.Updated, least.Expires, least.Lease, least.IndexTTL = "", "", "", "", "", 0
	least.entry = &keywright.Entry{Name: "note", Pattern: least.entry.Pattern, Type: "hash",
		TTL: keywright.TTL{Policy: keywright.Forever, Text: "none"}}
	least.Indexes = least.Indexes[:2]
	for name, spec := range map[string]*Spec[string, note]{"put_full.lua": full, "put_least.lua": least} {
		store := storeOf(c, spec)
		if store.writer.Putter == nil {
			t.Fatalf("%s: no script is made: %v", name, store.core.Err)
		}
		pieces, _, err := scripts.Parts.Pieces("put", store.writer.PutText(store.writer.Putter))
		must(t, err)
		text, file := "", filepath.Join("testdata", name)
		for _, p := range pieces {
			text += p.Text
		}
		if os.Getenv("KEYWRIGHT_UPDATE") != "" {
			must(t, os.WriteFile(file, []byte(text), 0o644))
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != text {
			t.Errorf("%s is another one (%v): KEYWRIGHT_UPDATE=1 writes it", file, err)
		}
	}
}
