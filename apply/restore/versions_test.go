package restore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/writelease"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb/dump"
)

// TestVersionsThatAServerTakes: a value goes in the version that it has to a server that takes it, whatever the server
// calls itself; else in the newest that the server takes, if its type is that old. What a server takes it is asked
// once.
func TestVersionsThatAServerTakes(t *testing.T) {
	t.Parallel()
	for _, brand := range kt.Brands() {
		to := kt.Start(t, brand)
		to.Do("SADD", "set", "a", "b")
		to.Do("SET", "text", "x")
		to.Do("RPUSH", "list", "x")
		set, own := applytest.Payload(to.Do("DUMP", "set").(string))
		text, _ := applytest.Payload(to.Do("DUMP", "text").(string))
		to.Do("FLUSHALL")
		list := []*archive.Record{
			{Key: []byte("own"), Kind: source.Set, RDB: own, Payload: set},
			{Key: []byte("newer"), Kind: source.Set, RDB: own + 1, Payload: set},
			{Key: []byte("older"), RDB: 9, Payload: text},
			{Key: []byte("next"), RDB: 16, Payload: text},
			{Key: []byte("other family"), RDB: 81, Payload: text},
			{Key: []byte("new type"), Kind: source.Hash, RDB: own + 1, Payload: []byte{200, 0}},
		}
		for _, r := range list {
			r.Entry, r.Form = archive.Undeclared, archive.Dump
		}
		stop := to.Monitor()
		r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), func(yield func(*archive.Record, error) bool) {
			for range 2 {
				for _, r := range list {
					if !yield(r, nil) {
						return
					}
				}
			}
		}, restore.Options{Writers: 1, Existing: restore.Replace})
		must(t, err)
		applytest.Adds(t, r)
		trials := 0
		for _, line := range stop() {
			if strings.Contains(line, `"RESTORE" "`+writelease.TemporaryPrefix) {
				trials++
			}
		}
		if n := to.Do("DBSIZE"); r.Restored != 10 || r.Refused != 2 || n != int64(5) {
			t.Errorf("%s: %+v %+v, %v keys", brand, r.Counts, r.Reasons, n)
		}
		if trials == 0 || trials > 4+len(dump.Versions()) {
			t.Errorf("%s: asked %d times", brand, trials)
		}
		for _, reason := range r.Reasons {
			if !strings.Contains(reason.Reason, fmt.Sprint("up to version ", own)) {
				t.Errorf("%s: %s: %s", brand, reason.Key, reason.Reason)
			}
		}
	}
}

// TestAPlanIsMadeForAFullServer: a plan is made also for a server that takes no writes.
func TestAPlanIsMadeForAFullServer(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	to.Do("SET", "text", "x")
	text, version := applytest.Payload(to.Do("DUMP", "text").(string))
	to.Do("CONFIG", "SET", "maxmemory", "1")
	one := &archive.Record{Entry: archive.Undeclared, Key: []byte("a"), Form: archive.Dump, RDB: version, Payload: text}
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), func(yield func(*archive.Record,
		error) bool) {
		yield(one, nil)
	},
		restore.Options{Plan: true})
	if err != nil || r.Restored != 1 {
		t.Errorf("%+v, %v", r.Counts, err)
	}
}
