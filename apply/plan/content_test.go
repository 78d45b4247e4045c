package plan_test

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/keyspace/load"
)

const spaceDeclaration = `keywright: 1
namespace: {default: app, names: app|app-eu}
owns: ["app:*"]
foreign: ["app:vendor:*"]
vars: {n: int 1..99, prio: high|low, tenant: slug}
keys:
  user: {key: "app:user:{id}", was: ["app:u:{id}"], type: string, ttl: none}
  hold: {key: "app:lock:{n}", type: lock, ttl: 10s}
  work: {key: "app:jobs:{prio}", type: queue, order: prio, ttl: none}
  secret: {key: "app:vault:{prio}", type: queue, order: prio, value: text encrypted, ttl: none}
  page: {key: "app:page:{id}", type: cache, ttl: 1h}
  tag: {key: "app:tag:{id}", type: zset, member: text, ttl: any}
  item: {key: "app:{tenant}:item:{id}", type: entity, ttl: 1h, fields: {kind: slug, all: int}, index: {kind: "app:{tenant}:by:{kind}:x", all: "app:{tenant}:all"}}
  safe: {key: "app:safe:{id}", type: entity, ttl: none, fields: {kind: slug, body: text encrypted}, index: {kind: "app:safe-by:{kind}"}}
`

// Each key gets the name that the declaration has for it in another namespace, or is left
// with a reason; and back.
func TestElsewhere(t *testing.T) {
	fsys := fstest.MapFS{"keyspace.yaml": {Data: []byte(spaceDeclaration)}}
	from, found := load.File(fsys, "keyspace.yaml")
	to, _ := load.In(fsys, "keyspace.yaml", map[string]string{"app": "app-eu"})
	if len(found) > 0 {
		t.Fatal(found)
	}
	e, err := plan.NewElsewhere(from, to)
	must(t, err)
	for name, want := range map[string]string{
		"app:user:7":                   "app-eu:user:7",
		"app:user:app:user:7":          "no-new-name",
		"app:u:7":                      "old-name",
		"app:vendor:x":                 "foreign",
		"app:stray":                    "no-new-name",
		"app-eu:user:7":                "foreign",
		"app:lock:7":                   "app-eu:lock:7",
		"app:{app:lock:7}:fence":       "app-eu:{app-eu:lock:7}:fence",
		"app:jobs:high":                "app-eu:jobs:high",
		"app:{app:jobs}:job:x":         "app-eu:{app-eu:jobs}:job:x",
		"app:{app:jobs}:workers":       "app-eu:{app-eu:jobs}:workers",
		"app:vault:high":               "sealed-to-name",
		"app:page:7":                   "app-eu:page:7",
		"app:acme:item:7":              "app-eu:acme:item:7",
		"app:acme:by:k:x":              "app-eu:acme:by:k:x",
		"app:acme:all":                 "app-eu:acme:all",
		"app:user:all":                 "app-eu:user:all", // two patterns have it
		"app:safe:7":                   "sealed-to-name",
		"app:safe-by:k":                "sealed-to-name",
		"app:{app:acme:item}:ledger":   "app-eu:{app-eu:acme:item}:ledger",
		"app:{app:acme:item}:whatever": "no-new-name",
	} {
		got, _, left := e.Name([]byte(name))
		if left != "" {
			got = []byte(left)
		} else if back, ok := e.Old(got); !ok || string(back) != name {
			t.Errorf("%s: back it is %q, %v", name, back, ok)
		}
		if string(got) != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	_, c, _ := e.Name([]byte("app:{app:acme:item}:ledger"))
	if got := fmt.Sprintf("%v %v", c.Places[plan.IndexPlace{Index: "kind", Prefix: "app:acme:by:", Suffix: ":x"}],
		c.Places[plan.IndexPlace{Index: "all", Prefix: "app:acme:all", All: true}]); len(c.Places) != 2 ||
		got != "{kind app-eu:acme:by: :x false} {all app-eu:acme:all  true}" {
		t.Error(got, c.Places)
	}
	_, c, _ = e.Name([]byte("app:tag:1"))
	for member, want := range map[string]string{"app:page:7": "app-eu:page:7", "app:user:7": "", "x": ""} {
		if got, ok := c.Member([]byte(member)); string(got) != want || ok != (want != "") {
			t.Errorf("the member %s: %q, %v", member, got, ok)
		}
	}
}
