package examples

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/gen/python"
	"github.com/keywright/keywright/gen/typescript"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keywrighttest"
)

var update = flag.Bool("update", false, "write the generated modules again")

// clients lists the programs in other languages that use the shop's keys. Debian
// has redis-py for its own Python only, so that one is named by its path.
var clients = []struct {
	dir      string
	generate func(*keyspace.Keyspace) ([]gen.File, error)
	build    []string
	run      []string // and the URL of a server
}{
	{"shop/ts", typescript.Generate, []string{"node", "node_modules/typescript/bin/tsc"},
		[]string{"node", "build/main.js"}},
	{"shop/py", python.Generate, []string{"/usr/bin/python3", "-W", "error", "-m", "py_compile", "main.py",
		"shopkeys.py"}, []string{"/usr/bin/python3", "main.py"}},
}

// TestClientsAreFresh: the modules beside the programs are what would be
// generated now. Write them with `go test -run Fresh -update .`
func TestClientsAreFresh(t *testing.T) {
	ks := loaded(t, "shop").ks
	for _, c := range clients {
		files, err := c.generate(ks)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if path := filepath.Join(c.dir, f.Name); *update {
				if err := os.WriteFile(path, f.Text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if state := gen.Check(os.DirFS(c.dir), f); state != gen.Fresh {
				t.Errorf("%s/%s is not what is generated now (%d): go test -run Fresh -update .", c.dir, f.Name, state)
			}
		}
	}
}

// shopSays says what each program prints; the key that is not ours is planted.
const shopSays = `made: {"id":42,"name":"shirt"}
from the cache: {"id":42,"name":"shirt"}
cached: 42; not ours: cache:product:detail:draft
the value for {productId} of product_detail is not an integer in 1..
`

// TestClients runs them on real servers, and looks at what they leave there.
func TestClients(t *testing.T) {
	gate.Skip(t, "npm and redis-py make the programs")
	for _, c := range clients {
		command(t, c.dir, c.build...)
		for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
			t.Run(c.dir+"/"+string(brand), func(t *testing.T) {
				s := keywrighttest.Start(t, brand)
				s.Do("SET", "cache:product:detail:draft", "{}", "PX", "60000")
				equal(t, "what it prints", command(t, c.dir, append(c.run, s.URL())...), shopSays)
				s.Do("DEL", "cache:product:detail:draft")
				leftByShop(t, s)
			})
		}
	}
}

// TestClientsInCluster: the same in a cluster of three.
func TestClientsInCluster(t *testing.T) {
	gate.Skip(t, "npm and redis-py make the programs")
	for i, c := range clients {
		brand := keywrighttest.Brands()[i%2]
		command(t, c.dir, c.build...)
		t.Run(c.dir+"/"+string(brand), func(t *testing.T) {
			cluster := keywrighttest.StartCluster(t, brand, 3, 0)
			want := strings.Replace(shopSays, "not ours: cache:product:detail:draft", "not ours: ", 1)
			equal(t, "what it prints", command(t, c.dir, append(c.run, cluster.URL())...), want)
			var keys int64
			for _, n := range cluster.Nodes {
				keys += n.Do("DBSIZE").(int64)
			}
			equal(t, "the number of keys", keys, int64(5))
		})
	}
}

// TestClientsAfterFailover: what was written through sentinels is there when
// another server has become the primary.
func TestClientsAfterFailover(t *testing.T) {
	gate.Skip(t, "npm and redis-py make the programs")
	for i, c := range clients {
		brand := keywrighttest.Brands()[i%2]
		command(t, c.dir, c.build...)
		t.Run(c.dir+"/"+string(brand), func(t *testing.T) {
			s := keywrighttest.StartSentinel(t, brand, 2, 3)
			first := command(t, c.dir, append(c.run, s.URL())...)
			if !strings.HasPrefix(first, "made:") {
				t.Error(first)
			}
			s.Primary.Copied(s.Replicas...)
			s.Primary.Kill()
			for _, sentinel := range s.Sentinels {
				awaitAnother(t, sentinel, s.Primary)
			}
			again := command(t, c.dir, append(c.run, s.URL())...)
			if !strings.HasPrefix(again, "from the cache:") {
				t.Error(again)
			}
		})
	}
}

// awaitAnother waits until a sentinel names a primary that takes writes and is
// not the dead one.
func awaitAnother(t *testing.T, sentinel, dead *keywrighttest.Server) {
	t.Helper()
	expect.Eventually(t, "another primary is named", func() bool {
		at, _ := sentinel.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster").([]any)
		return len(at) == 2 && fmt.Sprint(at[1]) != fmt.Sprint(dead.Port)
	})
}

// leftByShop: every key is declared, of the declared type, and expires within
// the declared time.
func leftByShop(t *testing.T, s *keywrighttest.Server) {
	want := map[string]string{
		"cache:product:detail:42": "product_detail", "cache:product:option:42:1": "product_option",
		"cache:product:option:42:2": "product_option",
		"cache:product:option:42:3": "product_option", "ranking:product:sales:2026-11-20": "daily_sales",
	}
	declared := loaded(t, "shop")
	equal(t, "the number of keys", s.Do("DBSIZE"), int64(len(want)))
	for key, name := range want {
		k := declared.find(key)
		if k == nil || k.Name != name {
			t.Errorf("%s is not a key of %s", key, name)
			continue
		}
		equal(t, "the type of "+key, fmt.Sprint(s.Do("TYPE", key)), string(k.Kind))
		most := k.TTL.LiveMax().Milliseconds()
		if left := s.Do("PTTL", key).(int64); left > most || left < most-30_000 {
			t.Errorf("%s lives %d ms more, want nearly %d", key, left, most)
		}
	}
	equal(t, "the units sold", s.Do("ZSCORE", "ranking:product:sales:2026-11-20", "42"), "5")
}

// command runs a program of a client in its folder; it must end well and say
// nothing on stderr.
func command(t *testing.T, dir string, words ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(words[0], words[1:]...)
	c.Dir, c.Stdout, c.Stderr = dir, &out, &errs
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if err := c.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("%s: %s: %v (missing? scripts/install-test-deps.sh installs what tests need)\n%s%s", dir,
			strings.Join(words, " "), err, out.String(), errs.String())
	}
	return out.String()
}
