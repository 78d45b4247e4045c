package command

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
)

// TestLintAndStoreAgreeOnSlots: lint (KW330) refuses the channels of an entity in a
// cluster that its store refuses, and no others.
func TestLintAndStoreAgreeOnSlots(t *testing.T) {
	c, err := keywright.Open(t.Context(), keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0).URL(),
		keywright.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	agreed := map[bool]int{}
	for _, keys := range []string{
		`key: "{#app}:item:{id}", index: {kind: "{#app}:kind:{kind}", expires: "{#app}:ends"}`, // in one slot
		// items in one, books in another
		`key: "{#items}:item:{id}", index: {kind: "kind:{kind}", expires: "{#books}:ends"}`,
		`key: "item:{id}", index: {kind: "kind:{kind}", expires: "{#books}:ends"}`,                   // spread
		`key: "t:{#{t}}:item:{id}", index: {kind: "t:{#{t}}:kind:{kind}", expires: "t:{#{t}}:ends"}`, // a slot per tenant
		`key: "{#items}:{id}"`, `key: "item:{#{id}}"`,
	} {
		for _, channel := range []string{"{#app}:log", "{#items}:log", "{#books}:log", "log", "log:{id}", "log:{#{id}}",
			"{#app}:log:{id}", "{#items}:log:{id}", "{#books}:log:{id}", "t:{#{t}}:log", "t:{#{t}}:log:{id}"} {
			for _, kind := range []string{"durable: {age: 1d}", "sharded: true", "doc: d"} {
				for _, on := range []string{"create", "update", "delete", "expire"} {
					text := fmt.Sprintf("keywright: 1\npackage: p\nowner: o\ncluster: true\nkeys:\n  e: {doc: d, type: entity, ttl: 1h, fields: {kind: slug}, emits: {%s: c}, %s}\nchannels: {c: {channel: %q, %s}}\n", on, keys, channel, kind)
					ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
					if finding.Count(found).Errors > 0 {
						t.Fatalf("%s\n%s", text, found[0].Message)
					}
					refused := false
					for _, f := range lint.Run(ks) {
						refused = refused || f.Code == "KW330"
					}
					e := ks.Entries[0]
					values := bind.Values{}
					if strings.Contains(keys, "{t}") {
						values["t"] = "7"
					}
					if len(e.Lacks(on, ks.Channel("c"))) > 0 {
						continue // refused for another reason
					}
					spec, err := bind.Spec(ks, e, values)
					if err != nil {
						t.Fatal(err)
					}
					events, err := bind.Events(ks, e, on)
					if err != nil {
						t.Fatal(err)
					}
					spec.OnExpire = nil
					*map[string]*[]entity.Event{"create": &spec.OnCreate, "update": &spec.OnUpdate, "delete": &spec.OnDelete,
						"expire": &spec.OnExpire}[on] = events
					_, err = entity.New(keywright.Binding{Client: c, Entry: bind.Entry(ks, e.Keys[0])}, spec).Exists(t.Context(), "1")
					class, _ := keywright.ClassOf(err)
					if bad := err != nil && class == keywright.Invalid; bad != refused {
						t.Errorf("lint refuses: %v, the store: %v\n%s", refused, err, text)
					}
					agreed[refused]++
				}
			}
		}
	}
	if agreed[true] < 50 || agreed[false] < 50 {
		t.Errorf("%d refused, %d not: the table is too one-sided", agreed[true], agreed[false])
	}
}
