package poppobuilder_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/examples/internal/sitetest"
	poppo "github.com/keywright/keywright/examples/poppobuilder"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// tool returns the keywright of the tests.
func tool(t *testing.T) poppo.Tool {
	t.Helper()
	return poppo.Tool{Keywright: sitetest.Program(t, "keywright"), Declaration: "keyspace.yaml"}
}

// TestBackup: one a day by whichever daemon comes first, counted when it was read back;
// what a killed one has left goes, seven are kept, and one brings the namespace back.
func TestBackup(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		dir := t.TempDir()
		name := func(at time.Time) string {
			return filepath.Join(dir, "poppo-"+at.UTC().Format(time.DateOnly)+".kwa")
		}
		now := time.Now()
		must(t, os.WriteFile(name(now), []byte("cut off"), 0o600))
		for i := range 9 {
			must(t, os.WriteFile(name(now.AddDate(0, 0, -1-i)), []byte("old"), 0o600))
		}
		must(t, os.WriteFile(name(now.AddDate(0, 0, -3))+".part", []byte("killed"), 0o600))
		s.Do("SET", "poppo:issue:status:1", "open")
		s.Do("SET", "poppo-test:issue:status:1", "other")
		o := poppo.Options{Tool: tool(t), Backup: poppo.Backup{Dir: dir, URL: s.URL(), Every: 20 * time.Millisecond},
			Cleanup: poppo.Cleanup{URL: s.URL()}}
		d, log := daemon(t, s, o)
		o.Name = "second"
		_, log2 := daemon(t, s, o)
		await(t, "a backup", func() bool { _, err := d.Keys().BackupLast().Get().Do(t.Context()); return err == nil })
		last, err := d.Keys().BackupLast().Get().Do(t.Context())
		must(t, err)
		info, err := os.Stat(last.File)
		must(t, err)
		before := s.Info("total_commands_processed")
		await(t, "both have looked again", func() bool { return s.Info("total_commands_processed") > before })
		if n := strings.Count(log.String()+log2.String(), "the backup of today is whole"); n != 1 ||
			last.Bytes != info.Size() || info.Size() < 100 {
			t.Errorf("%d backups on one day, %+v", n, last)
		}
		await(t, "seven are kept", func() bool {
			all, err := filepath.Glob(filepath.Join(dir, "*"))
			must(t, err)
			return len(all) == 7
		})

		// A restore is refused while the hourly clean-up changes keys.
		await(t, "a clean-up", func() bool { _, err := d.Keys().CleanupLast().Get().Do(t.Context()); return err == nil })
		s.Do("DEL", "poppo:issue:status:1")
		s.Do("SET", "poppo-test:issue:status:1", "changed")
		sitetest.Keywright(t, s.URL(), "restore", last.File, "--namespace", "poppo", "--existing", "skip", "--apply",
			"--quiet")
		if is, other := s.Do("GET", "poppo:issue:status:1"), s.Do("GET", "poppo-test:issue:status:1"); is != "open" ||
			other != "changed" {
			t.Errorf("after the restore: %v, and %v in the other namespace", is, other)
		}
	})
}

// TestBrokenBackup: a backup that cannot be read back is none, and the next look makes
// another one.
func TestBrokenBackup(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	good, dir := tool(t), t.TempDir()
	broken := filepath.Join(dir, "broken")
	must(t, os.WriteFile(broken,
		[]byte(fmt.Sprintf("#!/bin/sh\nif test $1 = backup && ! test -e %[1]s/tried; "+
			"then : >%[1]s/tried; echo torn >%[1]s/poppo-$(date -u +%%F).kwa; exit 0; fi\nexec %[2]s \"$@\"\n", dir,
			good.Keywright)), 0o700))
	d, log := daemon(t, s, poppo.Options{Tool: poppo.Tool{Keywright: broken, Declaration: good.Declaration},
		Backup: poppo.Backup{Dir: dir, URL: s.URL(), Every: 20 * time.Millisecond}, Cleanup: poppo.Cleanup{URL: s.URL()}})
	await(t, "a backup", func() bool { _, err := d.Keys().BackupLast().Get().Do(t.Context()); return err == nil })
	if !strings.Contains(log.String(), "keywright archive") {
		t.Errorf("the torn one was not told of:\n%s", log)
	}
}

// TestCleanUp: idle scratch keys go by the rules of the declaration, those that are used
// and those of the other namespace stay, and it is done once an hour.
func TestCleanUp(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		dump := func(key string, idle time.Duration) {
			s.Do("SET", "from", "x")
			s.Do("RESTORE", key, "0", s.Do("DUMP", "from").(string), "IDLETIME", fmt.Sprint(int64(idle/time.Second)))
			s.Do("DEL", "from")
		}
		const hour = time.Hour
		gone := []string{"poppo:temp:old", "poppo:session:expired:1", "poppo:stats:issues:old"}
		stay := []string{"poppo:temp:new", "poppo:session:expired:2", "poppo:stats:issues:2:old", "poppo-test:temp:old",
			"poppo:session:kept", "elsewhere"}
		for i, idle := range []time.Duration{2 * hour, 25 * hour, 25 * hour} {
			dump(gone[i], idle)
		}
		for i, idle := range []time.Duration{hour / 2, 23 * hour, 23 * hour, 99 * hour, 99 * hour, 99 * hour} {
			dump(stay[i], idle)
		}
		d, _ := daemon(t, s, poppo.Options{Tool: tool(t), Cleanup: poppo.Cleanup{URL: s.URL()}})
		await(t, "a clean-up", func() bool { _, err := d.Keys().CleanupLast().Get().Do(t.Context()); return err == nil })
		if n := s.Do(append([]string{"EXISTS"}, gone...)...); n != int64(0) {
			t.Errorf("%v of the idle keys are there", n)
		}
		if n := s.Do(append([]string{"EXISTS"}, stay...)...); n != int64(len(stay)) {
			t.Errorf("%v of %d keys are there that had to stay", n, len(stay))
		}
	})
}

// TestHTTP: what is asked for and is not there is 404, what cannot be read is 400, and
// two changes of settings in a row do not undo each other.
func TestHTTP(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	d, _ := daemon(t, s, poppo.Options{})
	h := d.Handler()
	for _, c := range []struct {
		method, path, body string
		code               int
		says               string
	}{
		{"GET", "/tasks/task-1", "", http.StatusNotFound, "error"},
		{"GET", "/tasks/none", "", http.StatusBadRequest, "error"},
		{"GET", "/issues/7", "", http.StatusNotFound, "error"},
		{"GET", "/issues/seven", "", http.StatusBadRequest, "error"},
		{"GET", "/sessions/none", "", http.StatusNotFound, "error"},
		{"POST", "/tasks", "{", http.StatusBadRequest, "error"},
		{"POST", "/tasks", `{"issue":0,"prompt":"x"}`, http.StatusBadRequest, "error"},
		{"POST", "/tasks", `{"issue":7,"prompt":"x","priority":"urgent"}`, http.StatusBadRequest, "error"},
		{"POST", "/tasks", `{"issue":7,"promt":"x"}`, http.StatusBadRequest, "error"},
		{"POST", "/tasks", `{"issue":7,"priority":"low"}`, http.StatusBadRequest, "a prompt"},
		{"POST", "/tasks", `{"issue":7,"prompt":"x","kind":"a b"}`, http.StatusBadRequest, "error"},
		{"PUT", "/settings", `{"maintenance":true}`, http.StatusOK, `"maintenance":true`},
		{"PUT", "/settings", `{"debug":true}`, http.StatusOK, `"maintenance":true`},
		{"PUT", "/settings", `{"claude_timeout":60}`, http.StatusOK, `"claude_timeout":60`},
		{"PUT", "/settings", `{"claude_timeout":0,"debug":false}`, http.StatusBadRequest, "error"},
		{"GET", "/settings", "", http.StatusOK, `"claude_timeout":60,"github_rate":5000,"maintenance":true,"debug":true`},
		{"DELETE", "/settings/claude_timeout", "", http.StatusOK, `"claude_timeout":300`},
		{"DELETE", "/settings/colour", "", http.StatusBadRequest, "error"},
		{"POST", "/tasks", `{"issue":7,"prompt":"x"}`, http.StatusOK, `"task-1"`}, // what was refused has used up no number
		{"GET", "/issues/7", "", http.StatusOK, `"queued"`},
		{"GET", "/status", "", http.StatusOK, `"waiting":{"high":0,"low":0,"normal":1}`},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, w.Code, w.Body)
		}
	}
	keys := fmt.Sprint(s.Do("SCAN", "0", "MATCH", "poppo:task:issue:*", "COUNT", "1000").([]any)[1])
	if keys != "[poppo:task:issue:task-1]" {
		t.Errorf("issues of tasks: %s", keys)
	}
}

// TestReadme: the commands of README.md that look, save and clean run as they are
// written, and `ls --where` finds all of an issue and nothing of another one.
func TestReadme(t *testing.T) {
	gate.Skip(t, "runs programs")
	text, err := os.ReadFile("README.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "<!-- not run: TestReadme")
	block, _, ok := strings.Cut(rest, "```\n\n")
	if !ok {
		t.Fatal("README.md has no commands")
	}
	s := keywrighttest.Start(t, keywrighttest.Redis)
	d, _ := daemon(t, s, poppo.Options{Namespace: "poppo-test"})
	for _, issue := range []int64{123, 1234} {
		id := submit(t, d, poppo.Task{Issue: issue, Prompt: "x"})
		await(t, "it is in work", func() bool { return s.Do("EXISTS", "poppo-test:task:run:"+id) == int64(1) })
	}
	dir, here := t.TempDir(), must1(os.Getwd())
	must(t, os.Symlink(here, filepath.Join(dir, "poppobuilder")))
	bin := filepath.Dir(sitetest.Program(t, "keywright"))
	operator := sitetest.AsOperator(t, s)
	run := func(command string) string {
		c := exec.Command("sh", "-c", command)
		c.Dir = dir
		c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KEYWRIGHT_FILE=poppobuilder/keyspace.yaml",
			"KEYWRIGHT_NAMESPACE=poppo-test", "KEYWRIGHT_URL="+operator)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	commands := 0
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, "$ keywright "); ok {
			commands++
			run("keywright " + strings.ReplaceAll(command, "redis://localhost:6379", operator))
		}
	}
	if commands < 12 {
		t.Errorf("%d commands", commands)
	}
	all := run("keywright ls --where number=123 -o names | tr '\\0' '\\n'")
	for _, key := range []string{"issue:status:123", "issue:metadata:123", "process:info:issue-123-poppo",
		"process:heartbeat:issue-123-poppo", "lock:issue:123", "lock:process:issue-123-poppo"} {
		if !strings.Contains(all, "poppo-test:"+key) || strings.Contains(all, "1234") {
			t.Errorf("of issue 123, %s is missing, or there is more:\n%s", key, all)
		}
	}
}
