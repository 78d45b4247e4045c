package migrate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// What a server lacks to be the only place of the records is said, one for each rule.
func TestFitness(t *testing.T) {
	t.Parallel()
	fit := func() map[string]string {
		return map[string]string{"role": "master", "maxmemory_policy": "noeviction", "maxmemory": "1000",
			"used_memory": "100",
			"aof_enabled": "1", "connected_slaves": "1", "slave0": "ip=1,state=online"}
	}
	for _, c := range []struct {
		name, value string
		fsync       string
		planned     int64
		expires     bool
		want        string
	}{
		{name: "role", value: "master", fsync: "always"},
		{name: "maxmemory_policy", value: "allkeys-lru", want: "throws records away"},
		{name: "maxmemory_policy", value: "volatile-lru", expires: true, want: "throws records away"},
		{name: "maxmemory_policy", value: "volatile-lru"},
		{name: "used_memory", value: "801", want: "801 are used"},
		{name: "used_memory", value: "700", planned: 99},
		{name: "used_memory", value: "700", planned: 101, want: "needs 101 more"},
		{name: "maxmemory", value: "0"},
		{name: "role", value: "slave", want: "is a replica"},
		{name: "slave0", value: "ip=1,state=wait_bgsave", want: "replica is not online"},
		{name: "aof_last_write_status", value: "err", want: "to the disk has failed"},
		{name: "rdb_last_bgsave_status", value: "err", want: "to the disk has failed"},
		{name: "aof_enabled", value: "0", want: "appendonly is off"},
		{name: "aof_enabled", value: "1", fsync: "no", want: "appendfsync is no"},
	} {
		info := fit()
		info[c.name] = c.value
		lacks := migrate.Lacks(info, map[string]string{"appendfsync": c.fsync}, c.planned, c.expires)
		if said := strings.Join(lacks, "; "); !strings.Contains(said, c.want) || c.want == "" != (said == "") ||
			len(lacks) > 1 {
			t.Errorf("%+v: %q", c, lacks)
		}
	}
	machine := map[string]string{"total_system_memory": "1000", "used_memory": "900", "aof_enabled": "1"}
	if said := strings.Join(migrate.Lacks(machine, nil, 0, false), ""); !strings.Contains(said, "memory of the machine") {
		t.Errorf("%q", said)
	}
}

// A part does not go live on a server that is not fit, unless it is forced: one that evicts,
// has no room for what was planned, or does not let the login write.
func TestUnfitServers(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"), kt.Config("maxmemory", "40mb"))
	c := dial(t, server.URL())
	root := t.TempDir()
	writeFile(t, root, "state.json", `{"guilds": {"456": {"persona": "`+strings.Repeat("x", 100_000)+`"}}}`)
	m := openDeclared(t, root, server.URL(), declaredMap(t, bot))
	lacks := func(m *migrate.Migration, want string) {
		t.Helper()
		f, err := m.Facts(t.Context(), "settings")
		if said := strings.Join(f.Unfit, "; "); err != nil || !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("%q, want %q, %v", said, want, err)
		}
	}
	lacks(m, "")
	if _, err := m.Plan(t.Context(), "settings"); err != nil {
		t.Fatal(err)
	}
	lacks(m, "")
	used, err := c.Raw().Do(t.Context(), c.Raw().B().Info().Section("memory").Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	for line := range strings.Lines(used) {
		_, _ = fmt.Sscanf(line, "used_memory:%d", &bytes)
	}
	redis(t, c, "CONFIG", "SET", "maxmemory", fmt.Sprint(bytes*10/8+60_000))
	lacks(m, "the plan needs 100")
	for _, part := range []string{"history", "settings"} {
		to(t, m, part, phase.Backfill)
	}
	redis(t, c, "CONFIG", "SET", "maxmemory", "40mb") // of a connection of its own, and its buffers, too
	if _, err := m.Import(t.Context(), "settings", migrate.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	lacks(m, "")
	redis(t, c, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	lacks(m, "allkeys-lru")
	for _, part := range []string{"history", "settings"} {
		to(t, m, part, phase.Shadow)
	}
	if _, err := m.Advance(t.Context(), "history", migrate.ChangeOptions{Limits: &phase.Limits{}}); err == nil ||
		!strings.Contains(err.Error(), "allkeys-lru") {
		t.Errorf("live on a cache: %v", err)
	}
	redis(t, c, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	redis(t, c, "ACL", "SETUSER", "app", "on", ">secret", "+@all", "~keywright:*", "~p:*", "~f:*")
	limited, err := keywright.Open(t.Context(), strings.Replace(server.URL(), "redis://", "redis://app:secret@", 1),
		keywright.Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(limited.Close)
	other, err := migrate.Open(t.Context(), migrate.Config{Root: root, Map: declaredMap(t, bot), Client: limited})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	lacks(other, "may not write the keys of settings.words")
}
