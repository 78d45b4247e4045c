//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/cmd/keywright/internal/janitor"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// tidied represents a job as the API answers.
type tidied struct {
	Name, State, Reason, Why, Did string
	LastRun                       string `json:"last_run"`
	LastGood                      string `json:"last_good"`
	Elsewhere                     bool
	Runs, Failed, Failures        int64
}

// tidy represents a folder for a server's janitor: declaration, plans, backups.
type tidy struct {
	*testing.T
	dir string
	s   *keywrighttest.Server
}

func newTidy(t *testing.T, jobs string) *tidy {
	t.Helper()
	d := &tidy{t, t.TempDir(), keywrighttest.Start(t, keywrighttest.Valkey)}
	text := "keywright: 1\npackage: tidy\nvars: {n: int}\nkeys:\n  user: {key: \"user:{n}\", type: string, ttl: 1h}\n  log: {key: \"log:{n}\", type: string, ttl: none}\n" +
		"cleanup: [{match: \"log:*\", keep: 10}]\njanitor:\n" + jobs
	if err := os.WriteFile(filepath.Join(d.dir, "keyspace.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

// due makes jobs due in a folder of plans, as they are after the program was away for long.
func (d *tidy) due(plans string, jobs ...string) {
	d.Helper()
	known := map[string]any{}
	for _, j := range jobs {
		known[j] = map[string]string{"from": "2020-01-01T00:00:00Z"}
	}
	text, _ := json.Marshal(map[string]any{"keywright_janitor": 1, "jobs": known})
	if err := os.MkdirAll(filepath.Join(d.dir, plans), 0o700); err != nil {
		d.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, plans, "janitor-default.json"), text, 0o600); err != nil {
		d.Fatal(err)
	}
}

func (d *tidy) flags(plans string, more ...string) []string {
	return append([]string{"-f", filepath.Join(d.dir, "keyspace.yaml"), "-u", d.s.URL(), "--store", "none",
		"--janitor-latency", "0",
		"--plans", filepath.Join(d.dir, plans), "--backups", filepath.Join(d.dir, "backups")}, more...)
}

// serve starts the program with its janitor.
func (d *tidy) serve(plans string, more ...string) (url string, end func(os.Signal)) {
	d.Helper()
	var said bytes.Buffer
	cmd := keywrightWith(d.T, &said,
		append([]string{"serve", "--listen", "127.0.0.1:0", "--janitor"}, d.flags(plans, more...)...)...)
	url = urlOf(d.T, cmd, &said)
	return url, func(sig os.Signal) {
		_ = cmd.Process.Signal(sig)
		_ = cmd.Wait()
	}
}

func (d *tidy) job(url, name string) (out tidied) {
	d.Helper()
	text, _ := get(d.T, url+"api/v1/t/default/janitor", http.StatusOK)
	var all struct{ Items []tidied }
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		d.Fatalf("%v: %s", err, text)
	}
	for _, j := range all.Items {
		if j.Name == name {
			return j
		}
	}
	return out
}

// until asks for a job until something is so of it.
func (d *tidy) until(url, name string, good func(tidied) bool) (out tidied) {
	d.Helper()
	changing(d.T, url, func() bool { out = d.job(url, name); return good(out) })
	return out
}

func (d *tidy) logs(n int) {
	d.s.Do("EVAL", "for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'log:'..i, 'x') end", "0", fmt.Sprint(n))
}

// TestServeJanitor: what is due is done by a plan, is killed in the middle, and goes on with the
// same plan; the API, the metrics and the log say so.
func TestServeJanitor(t *testing.T) {
	t.Parallel()
	const logs = 6010
	d := newTidy(t, "  tidy: {do: clean, cron: \"0 0 1 1 *\", doc: Old logs.}\n")
	d.logs(logs)
	d.due("plans", "tidy")
	_, end := d.serve("plans", "--apply-rate", "300") // for 20 s, of which it has two
	expect.Eventually(t, "it works", func() bool { return d.s.Do("DBSIZE").(int64) <= logs-500 })
	end(syscall.SIGKILL)
	if left := d.s.Do("DBSIZE").(int64); left <= 20 {
		t.Fatalf("it was killed too late: %d are left", left)
	}
	url, end := d.serve("plans")
	done := d.until(url, "tidy", func(j tidied) bool { return j.LastRun != "" })
	if done.Failures != 0 || done.Runs != 1 || done.Did == "" || done.State != "idle" || done.LastGood == "" {
		t.Errorf("%+v", done)
	}
	if n := d.s.Do("DBSIZE").(int64); n != 11 { // ten logs, and the key that says when it was done
		t.Errorf("%d keys are left", n)
	}
	text, _ := get(t, url+"metrics", http.StatusOK)
	for _, want := range []string{`keywright_janitor_runs_total{keyspace="tidy",target="default",job="tidy"} 1`,
		`keywright_janitor_failures_total{keyspace="tidy",target="default",job="tidy"} 0`,
		"# TYPE keywright_janitor_runs_total counter", "keywright_janitor_last_success_timestamp_seconds{"} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if all, _ := get(t, url+"api/v1/janitor", http.StatusOK); !strings.Contains(all, `"tidy"`) {
		t.Errorf("%s", all)
	}
	var me struct {
		CSRF       string
		AllowApply bool `json:"allow_apply"`
	}
	if text, _ := get(t, url+"api/v1/me", http.StatusOK); json.Unmarshal([]byte(text), &me) != nil || me.AllowApply {
		t.Errorf("users may apply plans: %s", text)
	}
	end(syscall.SIGTERM)
	log, err := os.ReadFile(filepath.Join(d.dir, "plans", "changes.log"))
	if err != nil {
		t.Fatal(err)
	}
	for action, n := range map[string]int{"plan": 0, "apply": 2, "end": 1} {
		if got := strings.Count(string(log), `"user":"janitor","action":"`+action+`"`) + strings.Count(string(log),
			`"user":"janitor","from":"","action":"`+action+`"`); got != n {
			t.Errorf("%s is logged %d times, not %d:\n%s", action, got, n, log)
		}
	}
	url, end = d.serve("plans") // it is not due again
	d.until(url, "tidy", func(j tidied) bool { return j.Name != "" && j.State == "idle" })
	if j := d.job(url, "tidy"); j.Runs != 1 {
		t.Errorf("%+v", j)
	}
	end(syscall.SIGTERM)
}

// TestTwoJanitors: two programs watch one server, and a job is done once.
func TestTwoJanitors(t *testing.T) {
	t.Parallel()
	d := newTidy(t, "  tidy: {do: clean, cron: \"0 0 1 1 *\"}\n")
	d.logs(3000)
	d.due("one", "tidy")
	d.due("two", "tidy")
	first, endFirst := d.serve("one", "--apply-rate", "1000")
	second, endSecond := d.serve("two", "--apply-rate", "1000")
	a := d.until(first, "tidy", func(j tidied) bool { return j.LastRun != "" })
	b := d.until(second, "tidy", func(j tidied) bool { return j.LastRun != "" })
	if a.Runs+b.Runs != 1 || a.Elsewhere == b.Elsewhere || a.Failed+b.Failed != 0 {
		t.Errorf("%+v\n%+v", a, b)
	}
	endFirst(syscall.SIGTERM)
	endSecond(syscall.SIGTERM)
}

// TestJanitorWaits: a job that frees nothing waits while memory is short, and says why; one that
// frees memory does not; when there is room again it is done.
func TestJanitorWaits(t *testing.T) {
	t.Parallel()
	d := newTidy(t, "  ttls: {do: ttl, cron: \"0 0 1 1 *\"}\n  tidy: {do: clean, cron: \"0 0 1 1 *\"}\n")
	d.logs(100)
	d.s.Do("SET", "user:1", "x")
	d.s.Do("CONFIG", "SET", "maxmemory", "20mb")
	d.due("plans", "ttls", "tidy")
	url, end := d.serve("plans", "--janitor-memory", "1", "--audit-every", "24h")
	if j := d.until(url, "ttls", func(j tidied) bool { return j.Reason != "" || j.LastRun != "" }); j.Reason != "memory" ||
		j.State != "waiting" || !strings.Contains(j.Why, "memory") {
		t.Errorf("%+v", j)
	}
	if j := d.until(url, "tidy", func(j tidied) bool { return j.LastRun != "" }); j.Failures != 0 {
		t.Errorf("%+v", j)
	}
	end(syscall.SIGTERM)
	d.s.Do("CONFIG", "SET", "maxmemory", "0")
	url, end = d.serve("plans", "--janitor-memory", "1")
	if j := d.until(url, "ttls", func(j tidied) bool { return j.LastRun != "" }); j.Failures != 0 ||
		d.s.Do("TTL", "user:1").(int64) <= 0 {
		t.Errorf("%+v", j)
	}
	end(syscall.SIGTERM)
}

// TestJanitorBackups: a backup is written, read again, and older ones go but those that are kept.
func TestJanitorBackups(t *testing.T) {
	t.Parallel()
	d := newTidy(t, "  saves: {do: backup, cron: \"0 0 1 1 *\", keep: 2}\n")
	d.logs(50)
	backups := func() (out []string) {
		all, _ := filepath.Glob(filepath.Join(d.dir, "backups", "*"))
		for _, path := range all {
			out = append(out, filepath.Base(path))
		}
		return out
	}
	d.due("plans", "saves")
	url, end := d.serve("plans")
	if j := d.until(url, "saves", func(j tidied) bool { return j.LastRun != "" }); j.Failures != 0 ||
		!strings.Contains(j.Did, "saved 50 keys") {
		t.Fatalf("%+v", j)
	}
	end(syscall.SIGTERM)
	if all := backups(); len(all) != 1 || !strings.HasPrefix(all[0], "default.saves.") {
		t.Fatal(all)
	}
	good, err := os.ReadFile(filepath.Join(d.dir, "backups", backups()[0]))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"default.saves.20200101T000000Z.kwa": good,
		"default.saves.20200102T000000Z.kwa": good,
		"default.saves.20200103T000000Z.kwa": good[:len(good)/2], "mine.txt": nil} {
		if err := os.WriteFile(filepath.Join(d.dir, "backups", name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(d.dir, "backups", backups()[4-1]),
		filepath.Join(d.dir, "backups", "default.saves.20200104T000000Z.kwa")); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	run := keywrightWith(t, &said, "janitor", "run", "saves", "--apply", "-f", filepath.Join(d.dir, "keyspace.yaml"), "-u",
		d.s.URL(), "--janitor-latency", "0", "--backups", filepath.Join(d.dir, "backups"))
	if err := run.Run(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	// The newest two good ones stay, and what is between them and not good is deleted with the others.
	all := strings.Join(backups(), " ")
	if len(backups()) != 3 || !strings.Contains(all, "20200104") || !strings.Contains(all, "mine.txt") ||
		strings.Contains(all, "20200101") || strings.Contains(all, "20200103") {
		t.Error(all)
	}
}

// TestJanitorRun: the command shows what a job would do, does it, and lists when jobs are due.
func TestJanitorRun(t *testing.T) {
	t.Parallel()
	d := newTidy(t,
		"  tidy: {do: clean, cron: \"0 0 1 1 *\", zone: Europe/Berlin}\n  swept: {do: sweep, every: 1h}\n  looks: {do: "+
			"audit, every: 1h}\n")
	d.logs(30)
	run := func(code int, args ...string) string {
		t.Helper()
		var said bytes.Buffer
		cmd := keywrightWith(t, &said, append([]string{"janitor"}, args...)...)
		var out bytes.Buffer
		cmd.Stdout = &out
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%v: exit code %d, not %d: %s", args, got, code, said.String())
		}
		return out.String() + said.String()
	}
	at := []string{"-f", filepath.Join(d.dir, "keyspace.yaml"), "-u", d.s.URL()}
	if text := run(0, append([]string{"run", "tidy"}, at...)...); !strings.Contains(text, "20") ||
		d.s.Do("DBSIZE") != int64(30) {
		t.Error(text)
	}
	run(0, append([]string{"run", "tidy", "--apply", "--janitor-latency", "0"}, at...)...)
	if n := d.s.Do("DBSIZE"); n != int64(11) {
		t.Errorf("%d keys", n)
	}
	run(2, append([]string{"run", "nothing"}, at...)...)
	run(2, append([]string{"run", "looks", "--apply"}, at...)...)
	run(2, append([]string{"run"}, at...)...)
	d.s.Do("SET", "keywright:janitor:turn", "1 somebody", "PX", "100000")
	if text := run(4, append([]string{"run", "tidy", "--apply", "--janitor-latency", "0"}, at...)...); !strings.Contains(
		text, "elsewhere") {
		t.Error(text)
	}
	var next struct {
		Version int
		Jobs    []struct {
			Name, Do, Zone string
			Next           []time.Time
		}
	}
	if text := run(0, "next", "-o", "json", "-f", filepath.Join(d.dir, "keyspace.yaml"), "--count",
		"3"); json.Unmarshal([]byte(text), &next) != nil ||
		next.Version != 1 || len(next.Jobs) != 3 || next.Jobs[0].Zone != "Europe/Berlin" || len(next.Jobs[0].Next) != 3 ||
		next.Jobs[1].Do != "sweep" {
		t.Errorf("%+v of %s", next, text)
	}
	if text := run(0, "next", "-f", filepath.Join(d.dir, "keyspace.yaml"), "--count",
		"2"); strings.Count(text, "tidy") != 2 || !strings.Contains(text, "12-31 23:00") {
		t.Error(text)
	}
}

// TestJanitorSweeps: a job sweeps what has expired of an entity, by serve and by the command; what is there stays.
func TestJanitorSweeps(t *testing.T) {
	t.Parallel()
	d := newTidy(t, "  swept: {do: sweep, entry: item, cron: \"0 0 1 1 *\"}\n")
	path := filepath.Join(d.dir, "keyspace.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("keys:\n"),
		[]byte("keys:\n  item: {key: \"item:{id}\", type: entity, ttl: 1h, fields: {n: int}, index: {expires: "+
			"\"items:ends\"}}\n"), 1)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	expired := func() {
		for i := range 30 {
			d.s.Do("ZADD", "items:ends", "1000", fmt.Sprint("gone", i))
		}
	}
	expired()
	later := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	d.s.Do("HSET", "item:kept", "n", "1")
	d.s.Do("PEXPIREAT", "item:kept", later)
	d.s.Do("ZADD", "items:ends", later, "kept")
	d.due("plans", "swept")
	url, end := d.serve("plans")
	if j := d.until(url, "swept", func(j tidied) bool { return j.LastRun != "" }); j.Failures != 0 || j.Runs != 1 ||
		j.Did != "swept 30 items" {
		t.Errorf("%+v", j)
	}
	end(syscall.SIGTERM)
	if n := d.s.Do("ZCARD", "items:ends"); n != int64(1) {
		t.Errorf("%v items are in the index", n)
	}
	expired()
	var said bytes.Buffer
	cmd := keywrightWith(t, &said, "janitor", "run", "swept", "--apply", "-f", path, "-u", d.s.URL(),
		"--janitor-latency", "0")
	if err := cmd.Run(); err != nil || !strings.Contains(said.String(), "swept 30 items") {
		t.Errorf("%v: %s", err, said.String())
	}
	if n := d.s.Do("EXISTS", "item:kept"); n != int64(1) {
		t.Error("an item that has not expired is gone")
	}
}

// TestKilledJanitor: a janitor that is killed at any moment of a run, and started again, has done the job once in the
// end: each run has one plan, which is begun as often as it was killed and once more, and ended once; what is kept is
// there, and no key is changed twice.
func TestKilledJanitor(t *testing.T) {
	gate.Skip(t, "TestServeJanitor kills one, too")
	t.Parallel()
	const logs, kept = 1510, 10
	kills, r := gate.Count(t, "KEYWRIGHT_KILLS", 1, 2), gate.Rand(t)
	d := newTidy(t, "  tidy: {do: clean, cron: \"0 0 1 1 *\"}\n")
	midway, rounds := 0, 0
	for killed := 0; killed < kills && !t.Failed(); rounds++ {
		d.s.Do("FLUSHALL")
		d.logs(logs)
		d.s.Do("SET", "mine", "x")
		plans := fmt.Sprint("plans", rounds)
		d.due(plans, "tidy")
		at := 0
		for more := true; more && killed < kills; more = at < 4 {
			_, end := d.serve(plans, "--apply-rate", "1000")
			begin := d.s.Do("DBSIZE").(int64)
			stop := begin - r.Int64N(400)
			for deadline := time.Now().Add(time.Minute); d.s.Do("DBSIZE").(int64) > max(stop, kept+50) &&
				time.Now().Before(deadline); {
			}
			end(syscall.SIGKILL)
			killed, at = killed+1, at+1
			if left := d.s.Do("EVAL", "return #redis.call('SCAN', '0', 'MATCH', 'log:*', 'COUNT', '100000')[2]",
				"0").(int64); left > kept {
				midway++
			}
			d.s.Do("DEL", writelease.Key, janitor.TurnKey) // as it is when their leases have ended
		}
		url, end := d.serve(plans)
		done := d.until(url, "tidy", func(j tidied) bool { return j.LastRun != "" && j.State == "idle" })
		end(syscall.SIGTERM)
		if done.Runs != 1 || done.Failed != 0 {
			t.Errorf("round %d: %+v", rounds, done)
		}
		if n := d.s.Do("DBSIZE"); n != int64(kept+2) { // what is kept, the key that is not a log, and when it was done
			t.Errorf("round %d: %d keys are left", rounds, n)
		}
		log, err := os.ReadFile(filepath.Join(d.dir, plans, "changes.log"))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(log), `"action":"end"`); n != 1 {
			t.Errorf("round %d: %d plans have ended:\n%s", rounds, n, log)
		}
	}
	t.Logf("%d of %d kills in %d rounds were before the end", midway, kills, rounds)
}
