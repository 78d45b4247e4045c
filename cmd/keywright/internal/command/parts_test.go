package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/access"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/inspect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"pgregory.net/rapid"
)

// liveKey represents a random key of a random keyspace.
type liveKey struct {
	DB      int
	Name    string
	Kind    int
	Expires bool
}

// liveNames are names that end in different rows of a report: declared, nearly
// declared, former, foreign, of known software, in groups over every limit, and bytes.
var liveNames = []string{
	"app:album:%[1]d", "app:albun:%[1]d", "app:alb:%[1]d", "bull:mail:%[1]d", "bull:mail:wait%[1]d", "app:%[2]s:%[1]d",
	"%[2]s:x", "%[2]s",
	"celery-task-meta-%[1]d", "{t%[1]d}:%[2]s", "item:%[1]d", "page/%[1]d/%[2]s", "\xff\xfe\x00%[1]d", "::add-mask::%[1]d",
	"a b\"c\\\u202e\n%[1]d", "상품:%[1]d", "secret:%[1]d",
}

var genLive = rapid.Custom(func(t *rapid.T) liveKey {
	n := rapid.IntRange(0, 300).Draw(t, "n")
	word := strings.Repeat(string(rune('a'+n%26)), 1+n/26)
	k := liveKey{DB: rapid.SampledFrom([]int{0, 0, 3, 15}).Draw(t, "db"), Kind: rapid.IntRange(0, 5).Draw(t, "kind"),
		Expires: rapid.Bool().Draw(t, "expires")}
	form := rapid.SampledFrom(liveNames).Draw(t, "form")
	k.Name = fmt.Sprintf(form+"%[3]s", n, word, "")
	return k
})

// commands make the key, if there is none.
func (k liveKey) commands() [][]string {
	make := [][]string{{"SET", k.Name, "v"}, {"HSET", k.Name, "title", "t", "year", "1"}, {"RPUSH", k.Name, "1"},
		{"SADD", k.Name, "1"}, {"ZADD", k.Name, "1", "m"}, {"XADD", k.Name, "*", "n", "1"}}[k.Kind]
	out := [][]string{{"DEL", k.Name}, make}
	if k.Expires {
		out = append(out, []string{"EXPIRE", k.Name, "1000000"})
	}
	return out
}

// reports returns what one command says of one keyspace, read in three ways.
func reports[T any](t *testing.T, s *keywrighttest.Server, command string) map[string]*T {
	t.Helper()
	out := map[string]*T{}
	for way, where := range map[string]string{"live": " -u URL", "snapshot": " --snapshot -u URL", "file": " dump.rdb"} {
		r := new(T)
		text := runDocument(t, s, documentRun{"", -1, command + where + " --progress none", ""})
		if err := json.Unmarshal([]byte(text), r); err != nil {
			t.Fatalf("%s%s: %v\n%s", command, where, err, text)
		}
		out[way] = r
	}
	return out
}

// auditRows holds the parts of an audit's report that JSON has.
type auditRows struct {
	Verdict    string
	Total      audit.Figures
	Values     *audit.Coverage
	Entries    []audit.EntryRow
	Legacy     []audit.EntryRow
	Foreign    []audit.GlobRow
	Undeclared struct {
		Owned, Other, Bytes int64
		Suggestions         []audit.Suggestion
		Rest                *audit.Rest
	}
	Findings []struct {
		Code, Severity, Message, Fix, Entry string
		Count                               int64
		Examples                            any
	}
}

// add sums up what the rows have.
func (r *auditRows) sums() (all, undeclared audit.Figures) {
	add := func(to *audit.Figures, f audit.Figures) { to.Keys, to.Bytes = to.Keys+f.Keys, to.Bytes+f.Bytes }
	for _, e := range append(r.Entries, r.Legacy...) {
		add(&all, e.Figures)
	}
	for _, g := range r.Foreign {
		add(&all, g.Figures)
	}
	u := r.Undeclared
	add(&all, audit.Figures{Keys: u.Owned + u.Other, Bytes: u.Bytes})
	for _, s := range u.Suggestions {
		add(&undeclared, s.Figures)
	}
	if u.Rest != nil {
		add(&undeclared, audit.Figures{Keys: u.Rest.Keys, Bytes: u.Rest.Bytes})
	}
	return all, undeclared
}

// timeless takes out what passes between a snapshot and a file.
func (r *auditRows) timeless() *auditRows {
	r.each(func(f *audit.Figures) { f.TTL = nil })
	return r
}

// asRead takes out what a snapshot does not know: how many bytes a key has in the
// server, and what its TTL is to the second.
func (r *auditRows) asRead() *auditRows {
	r.each(func(f *audit.Figures) { f.Bytes, f.Share, f.TTL = 0, 0, nil })
	if r.Undeclared.Bytes = 0; r.Undeclared.Rest != nil {
		r.Undeclared.Rest.Bytes = 0
	}
	return r
}

// each visits the figures of all rows.
func (r *auditRows) each(visit func(*audit.Figures)) {
	visit(&r.Total)
	for _, list := range [][]audit.EntryRow{r.Entries, r.Legacy} {
		for i := range list {
			visit(&list[i].Figures)
		}
	}
	for i := range r.Foreign {
		visit(&r.Foreign[i].Figures)
	}
	for i := range r.Undeclared.Suggestions {
		visit(&r.Undeclared.Suggestions[i].Figures)
	}
}

// TestReportsAddUpOnServers: over random keyspaces in several databases, the rows of
// audit and top add up to what the server has, read live, as a snapshot and from a
// file; and the three reports are the same. KEYWRIGHT_SOAK is how many keyspaces.
func TestReportsAddUpOnServers(t *testing.T) {
	runs := gate.Count(t, "KEYWRIGHT_SOAK", 1, 6)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("keyspace.yaml", []byte(documentKeyspace), 0o600); err != nil {
		t.Fatal(err)
	}
	brands := keywrighttest.Brands()
	for seed := range runs {
		s := keywrighttest.Start(t, brands[seed%len(brands)])
		var commands [][]string
		keys := rapid.SliceOfN(genLive, 60, 400).Example(seed)
		for _, k := range keys {
			commands = append(append(commands, []string{"SELECT", strconv.Itoa(k.DB)}), k.commands()...)
		}
		s.Pipe(commands...)
		s.Await("rdb_bgsave_in_progress", "0")
		s.Do("SAVE")
		copyFile(t, filepath.Join(s.Dir, "dump.rdb"), "dump.rdb")
		names := map[string]bool{}
		for _, k := range keys {
			names[fmt.Sprint(k.DB, "/", k.Name)] = true
		}
		limit := 1 + 17*seed%60
		values := []string{"none", "all", "sample"}[seed%3]
		found := reports[auditRows](t, s, fmt.Sprintf("audit -o json --min-keys 0 --groups %d --values=%s", limit, values))
		for way, r := range found {
			all, undeclared := r.sums()
			if r.Total.Keys != int64(len(names)) || all.Keys != r.Total.Keys || all.Bytes != r.Total.Bytes {
				t.Errorf("seed %d, %s: the rows have %d keys and %d bytes, the total %d and %d, the server %d", seed, way, all.Keys,
					all.Bytes, r.Total.Keys, r.Total.Bytes, len(names))
			}
			if undeclared.Keys != r.Undeclared.Owned+r.Undeclared.Other || undeclared.Bytes != r.Undeclared.Bytes ||
				len(r.Undeclared.Suggestions) > limit {
				t.Errorf("seed %d, %s: the groups have %d keys and %d bytes of %+v", seed, way, undeclared.Keys, undeclared.Bytes,
					r.Undeclared)
			}
		}
		if d := cmp.Diff(found["snapshot"].timeless(), found["file"].timeless()); d != "" {
			t.Errorf("seed %d: snapshot and file differ:\n%s", seed, d)
		}
		if v := found["live"].Values; (v == nil) != (values == "none") || values == "all" && v.Keys > 0 && !v.All() {
			t.Errorf("seed %d: --values=%s looked at %+v", seed, values, v)
		}
		for _, way := range []string{"snapshot", "file"} {
			if d := cmp.Diff(found["live"].asRead(), found[way].asRead()); d != "" {
				t.Errorf("seed %d: live and %s differ:\n%s", seed, way, d)
			}
		}
		whole := reports[inspect.TopReport](t, s, "top -o json --limit 10000")
		for _, way := range []string{"snapshot", "file"} {
			if d := cmp.Diff(groupNames(whole["live"]), groupNames(whole[way])); d != "" {
				t.Errorf("seed %d: top of live and %s differ:\n%s", seed, way, d)
			}
		}
		for way, r := range reports[inspect.TopReport](t, s, fmt.Sprintf("top -o json --limit %d", limit)) {
			keys, size, forever := r.OtherKeys, r.OtherBytes, r.OtherNoTTL
			for _, g := range r.Groups {
				keys, size, forever = keys+g.Keys, size+g.Bytes, forever+g.NoTTL
			}
			if forever != r.NoTTL || r.NoTTL != whole["live"].NoTTL {
				t.Errorf("seed %d, %s: the rows have %d keys that never expire, the total %d, the server %d", seed, way, forever,
					r.NoTTL, whole["live"].NoTTL)
			}
			if keys != r.Keys || size != r.Bytes || r.Keys != int64(len(names)) || r.OtherKeys < 0 || r.OtherBytes < 0 ||
				len(r.Groups) > limit {
				t.Errorf("seed %d, %s: top has %d keys and %d bytes in its rows, %d and %d in all, the server %d keys", seed, way,
					keys, size, r.Keys, r.Bytes, len(names))
			}
		}
	}
}

// names returns the groups, without their bytes.
func groupNames(t *inspect.TopReport) (out []string) {
	for _, g := range t.Groups {
		out = append(out, fmt.Sprintf("%q %q %s: %d, %d never expire", g.Entry, g.Pattern, g.Type, g.Keys, g.NoTTL))
	}
	slices.Sort(out)
	return out
}

// TestListingsAddUp: what queues, entities and seal count in parts is what was put
// there.
func TestListingsAddUp(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("keyspace.yaml", []byte(documentKeyspace), 0o600); err != nil {
		t.Fatal(err)
	}
	s := keywrighttest.Start(t, keywrighttest.Redis)
	runDocument(t, s, documentRun{"", 0, "seal key ring.json", ""})
	amount := rapid.SliceOfN(rapid.IntRange(0, 40), 12, 12)
	for seed := range 4 {
		s.Do("FLUSHALL")
		n := amount.Example(seed)
		add := func(count int, command func(id string) [][]string) {
			for i := range count {
				for _, c := range command(fmt.Sprintf("%d-%d", len(n), i)) {
					s.Do(c...)
				}
			}
		}
		place := 0
		jobs := func(count int, command ...string) {
			place++
			for i := range count {
				id := fmt.Sprintf("p%d-%d", place, i)
				s.Do("SET", "{jobs}:job:"+id, "q1 1 high 0 - -\n{}")
				s.Do(append(append([]string{}, command...), id)...)
			}
		}
		jobs(n[0], "RPUSH", "jobs:high")
		jobs(n[1], "RPUSH", "jobs:low")
		jobs(n[2], "ZADD", "{jobs}:dead", "1")
		jobs(n[3], "ZADD", "{jobs}:delayed", "99999999999999")
		jobs(n[4], "ZADD", "{jobs}:leases", "99999999999999")
		jobs(n[5], "ZADD", "{jobs}:leases", "1")
		var queues answer.Queues
		decode(t, s, "queues -o json -u URL", &queues)
		q, want := queues.Queues[0], int64(n[0]+n[1]+n[2]+n[3]+n[4]+n[5])
		sum := q.Running + q.Zombies + q.Delayed + q.Dead
		for _, l := range q.Lanes {
			sum += l.Jobs
		}
		if q.Jobs != want || sum != want {
			t.Errorf("seed %d: the queue has %d jobs, its parts %d, there are %d: %+v", seed, q.Jobs, sum, want, q)
		}
		locksAddUp(t, s, n[9], n[10], n[11])
		add(n[6], func(id string) [][]string {
			return [][]string{{"HSET", "item:" + id, "n", "1"}, {"PEXPIRE", "item:" + id, "9999999"}}
		})
		runDocument(t, s, documentRun{"", 0, "entities repair --apply -u URL", ""})
		var entities answer.Entities
		decode(t, s, "entities -o json -u URL", &entities)
		if got := entities.Entities[0].Items; got != int64(n[6]) {
			t.Errorf("seed %d: %d items are counted, there are %d", seed, got, n[6])
		}
		add(n[7], func(id string) [][]string { return [][]string{{"SET", "secret:a" + id, "plain text"}} })
		runDocument(t, s, documentRun{"", 0, "seal adopt --apply -u URL --keys-file ring.json --progress none", ""})
		add(n[8], func(id string) [][]string { return [][]string{{"SET", "secret:b" + id, "plain text"}} })
		var sealed access.SealReport
		decode(t, s, "seal status -o json -u URL --keys-file ring.json --progress none", &sealed)
		for _, p := range sealed.Parts {
			sum := p.NotSealed
			for _, m := range []map[string]int64{p.Keys, p.Unknown, p.Forged} {
				for _, some := range m {
					sum += some
				}
			}
			if p.Texts != int64(n[7]+n[8]) || sum != p.Texts || p.NotSealed != int64(n[8]) {
				t.Errorf("seed %d: %d texts are counted, their states are %d, there are %d, of these %d plain", seed, p.Texts, sum,
					n[7]+n[8], n[8])
			}
		}
	}
}

// locksAddUp puts locks on a server and compares what is listed: held ones, those that
// are only waited for, and shared ones.
func locksAddUp(t *testing.T, s *keywrighttest.Server, held, waited, shared int) {
	t.Helper()
	for i := range held {
		s.Do("SET", fmt.Sprintf("lock:%d", i), "w/1", "PX", "900000")
	}
	for i := range waited {
		s.Do("ZADD", fmt.Sprintf("{lock:%d}:waiters", 1000+i), "1", "x9999999 a", "2", "x9999999 b")
	}
	for i := range shared {
		s.Do("ZADD", fmt.Sprintf("{lock:%d}:shared", 2000+i), "99999999999999", "r1", "99999999999999", "r2",
			"99999999999999", "r3")
	}
	var report answer.Locks
	decode(t, s, "locks hold -o json -u URL", &report)
	tokens, waiting, sharing := 0, int64(0), int64(0)
	for _, l := range report.Locks {
		if l.Token != nil {
			tokens++
		}
		waiting, sharing = waiting+l.Waiting, sharing+l.Sharing
	}
	if len(report.Locks) != held+waited+shared || tokens != held || waiting != int64(2*waited) ||
		sharing != int64(3*shared) || report.Cut != nil {
		t.Errorf("%d locks, %d held, %d waiting, %d sharing; there are %d held, %d waited for by 2, %d shared by 3",
			len(report.Locks), tokens, waiting, sharing, held, waited, shared)
	}
}

// TestLimitsAreSaid: what a limit leaves out is in the table, in the document, and on the
// exit line or, where the code is 0, on standard error.
func TestLimitsAreSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("keyspace.yaml", []byte(documentKeyspace), 0o600); err != nil {
		t.Fatal(err)
	}
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var locks [][]string
	for i := range bind.MaxInstances + 3 {
		locks = append(locks, []string{"SET", fmt.Sprintf("lock:%d", i), "w/1", "PX", "9000000"})
	}
	s.Pipe(locks...)
	for i := range 7 {
		s.Do("SET", fmt.Sprintf("{jobs}:job:d%d", i), "q1 1 high 0 - -\n{}")
		s.Do("ZADD", "{jobs}:dead", "1", fmt.Sprintf("d%d", i))
		s.Do("ZADD", "items:n", "1", fmt.Sprintf("gone%d", i))
	}
	for _, c := range []struct {
		args             string
		code             int
		table, json, err string
	}{
		{"locks hold", cli.ExitPartial, "hold has more than the 10,000 that are looked at here", `"listed": 10000`,
			"not all locks are listed: hold has more than 10,000"},
		{"queues --dead --limit 3", 0, "and 4 more dead jobs, which --limit leaves out", `"not_listed": 4`, ""},
		{"entities check --limit 2", cli.ExitFindings, "more problems, which --limit leaves out", `"not_listed": `,
			"not listed: --limit)"},
		{"top --limit 1", 0, "which --limit 1 leaves out", `"other_groups": 3`, ""},
	} {
		for _, form := range []string{"table", "json"} {
			var out, errs strings.Builder
			args := append(strings.Fields(c.args), "-u", s.URL(), "-o", form)
			code := Main(t.Context(), args,
				cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
			want := map[string]string{"table": c.table, "json": c.json}[form]
			if code != c.code || !strings.Contains(out.String(), want) || !strings.Contains(errs.String(), c.err) {
				t.Errorf("%s -o %s: exit code %d, standard error %s", c.args, form, code, errs.String())
			}
			left := map[bool]string{true: "not listed: 4 more dead jobs (--limit)",
				false: " more groups (--limit)"}[strings.HasPrefix(c.args, "queues")]
			if c.code == 0 && form == "json" && !strings.Contains(errs.String(), left) {
				t.Errorf("%s: %q", c.args, errs.String())
			}
		}
	}
}

func decode(t *testing.T, s *keywrighttest.Server, args string, into any) {
	t.Helper()
	text := runDocument(t, s, documentRun{"", -1, args, ""})
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v\n%s", args, err, text)
	}
}
