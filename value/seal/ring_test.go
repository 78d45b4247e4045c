package seal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/value/seal"
)

// shows reports whether a text holds a key, in any usual spelling.
func shows(text, id string) bool {
	secret := servertest.Secret(id)
	for _, s := range []string{string(secret), base64.StdEncoding.EncodeToString(secret)[:20],
		fmt.Sprintf("%x", secret)[:20], strings.Trim(fmt.Sprint(secret[:6]), "[]"), fmt.Sprintf("%#v", secret[:4])[7:20]} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// TestNothingShowsAKey: a ring in every form that programs print things in.
func TestNothingShowsAKey(t *testing.T) {
	t.Parallel()
	r := ring(t, "new", "old")
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("x", "ring", r, "in", struct{ R *seal.Ring }{r})
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "ring", r, "in", struct{ R *seal.Ring }{r})
	printed := log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T", "%p"} {
		printed += fmt.Sprintf(verb, r) + fmt.Sprintf(verb, struct{ R *seal.Ring }{r}) + fmt.Sprintf(verb, []any{r})
	}
	text, err := json.Marshal(map[string]any{"ring": r, "in": struct{ R *seal.Ring }{r}})
	if err != nil {
		t.Fatal(err)
	}
	printed += string(text)
	if shows(printed, "new") || shows(printed, "old") || !strings.Contains(printed, "active new") {
		t.Errorf("%s", printed)
	}
	if !shows(string(servertest.RingText("new")), "new") {
		t.Error("this test finds nothing")
	}
}

// TestBadRings: what is no ring is refused, by an error that shows none of it.
func TestBadRings(t *testing.T) {
	t.Parallel()
	good := string(servertest.RingText("new", "old"))
	b64 := base64.StdEncoding.EncodeToString(servertest.Secret("new"))
	for name, text := range map[string]string{
		"empty": "", "not JSON": "canary", "a list": "[]", "null": "null", "behind its end": good + "x", "two": good + good,
		"unknown part":  strings.Replace(good, `"ring"`, `"canary":1,"ring"`, 1),
		"no version":    strings.Replace(good, `"ring":1`, `"ring":2`, 1),
		"no keys":       `{"ring":1,"active":"a","keys":{}}`,
		"keys as list":  `{"ring":1,"active":"a","keys":["` + b64 + `"]}`,
		"not active":    strings.Replace(good, `"active":"new"`, `"active":"canary"`, 1),
		"short key":     strings.Replace(good, b64, b64[4:], 1),
		"no base64":     strings.Replace(good, b64, "canary"+b64[6:42]+"!=", 1),
		"loose base64":  strings.Replace(good, b64, b64[:42]+"9=", 1),
		"a number":      strings.Replace(good, `"`+b64+`"`, "123456", 1),
		"active twice":  strings.Replace(good, `"active":"new"`, `"active":"old","active":"new"`, 1),
		"keys twice":    strings.Replace(good, `"ring"`, `"keys":{"old":"`+b64+`"},"ring"`, 1),
		"ring twice":    strings.Replace(good, `"ring":1`, `"ring":1,"ring":1`, 1),
		"other letters": strings.Replace(good, `"active"`, `"Active"`, 1),
		"id twice":      strings.Replace(good, `"keys":{`, `"keys":{"new":"`+b64+`",`, 1),
		"key twice":     strings.Replace(good, `"keys":{`, `"keys":{"x":"`+b64+`",`, 1),
		"zeros":         strings.Replace(good, b64, base64.StdEncoding.EncodeToString(make([]byte, 32)), 1),
		"odd id":        `{"ring":1,"active":"a b","keys":{"a b":"` + b64 + `"}}`,
		"long id":       strings.ReplaceAll(good, `"new"`, `"`+strings.Repeat("n", 33)+`"`),
		"too long":      good + strings.Repeat(" ", 65<<10),
		"too many keys": `{"ring":1,"active":"a","keys":{` + many(300) + `}}`,
	} {
		r, err := seal.Parse([]byte(text))
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if s := fmt.Sprintf("%v %+v %#v %v", err, err, errors.Unwrap(err), r); shows(s, "new") ||
			strings.Contains(s, "canary") || strings.Contains(s, b64[:8]) {
			t.Errorf("%s: %s", name, s)
		}
		if _, err := r.Seal(place, "x"); err == nil {
			t.Errorf("%s: it seals", name)
		}
	}
	if _, err := (*seal.Ring)(nil).Seal(place, "x"); err == nil {
		t.Error("a nil ring seals")
	}
	if err := new(seal.Ring).Reload(t.Context()); err == nil {
		t.Error("an empty ring is loaded")
	}
}

func many(n int) string {
	var all []string
	for i := range n {
		id := fmt.Sprint("a", i)
		all = append(all, `"`+id+`":"`+base64.StdEncoding.EncodeToString(servertest.Secret(id))+`"`)
	}
	return strings.Join(all, ",")
}

// TestFiles: who else may use a file decides, whatever its name points at.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "ring")
	link := filepath.Join(dir, "link")
	if err := errors.Join(seal.Store(path, servertest.RingText("new")), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o600, 0o400, 0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o666, 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, link} {
			_, err := seal.Open(t.Context(), seal.File(name))
			if (err == nil) != (mode&0o077 == 0) || err != nil && !strings.Contains(err.Error(), "chmod 600") {
				t.Errorf("mode %o: %v", mode, err)
			}
		}
	}
	for _, name := range []string{dir, filepath.Join(dir, "none"), "/dev/null"} {
		if _, err := seal.Open(t.Context(), seal.File(name)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	if err := seal.Store(link, servertest.RingText("old")); err == nil {
		t.Error("a link was written over")
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(path, 0o600), os.Chown(path, 65534, -1)); err != nil {
			t.Fatal(err)
		}
		if _, err := seal.Open(t.Context(), seal.File(path)); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("a file of somebody else: %v", err)
		}
	}
	if err := errors.Join(os.Chmod(path, 0o666), seal.Store(path, servertest.RingText("old"))); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".ring-*")); len(left) > 0 {
		t.Errorf("%q stay", left)
	}
}

// TestStoreSurvivesAPowerCut: the text is synced before the rename, and the folder
// after it; without that a rename can be lost, and with it a key that seals.
func TestStoreSurvivesAPowerCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	steps := seal.WatchDisk(t, nil)
	if err := seal.Store(path, servertest.RingText("new")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"sync the text", "rename to " + path, "sync " + filepath.Dir(path)}; !slices.Equal(*steps, want) {
		t.Errorf("%q, want %q", *steps, want)
	}
	failing := seal.WatchDisk(t, errors.New("no power"))
	if err := seal.Store(path, servertest.RingText("old")); err == nil || len(*failing) != 3 {
		t.Errorf("%v after %q", err, *failing)
	}
}

// TestProgramsGetLittleOfTheEnvironment: what a key program does not need it does
// not get.
func TestProgramsGetLittleOfTheEnvironment(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "canary")
	t.Setenv("VAULT_TOKEN", "needed")
	t.Setenv("AWS_REGION", "needed too")
	path := filepath.Join(t.TempDir(), "ring")
	if err := seal.Store(path, servertest.RingText("new")); err != nil {
		t.Fatal(err)
	}
	script := func(want string) string {
		return `[ -z "$CANARY_TOKEN" ] && [ "$VAULT_TOKEN$AWS_REGION" = "` + want + `" ] && [ -n "$PATH" ] && cat ` + path
	}
	if _, err := seal.Open(t.Context(), seal.Exec(0, "sh", "-c", script(""))); err != nil {
		t.Error(err)
	}
	more := seal.ExecOptions{Env: []string{"VAULT_TOKEN", "AWS_*"}}
	if _, err := seal.Open(t.Context(), more.Exec("sh", "-c", script("needed"+"needed too"))); err != nil {
		t.Error(err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	set := map[string]string{"KEYS": string(servertest.RingText("new"))}
	get := func(name string) string { return set[name] }
	r, err := seal.Open(t.Context(), seal.Environment("KEYS", get))
	if err != nil || r.Active() != "new" {
		t.Fatal(r, err)
	}
	if _, err = seal.Open(t.Context(), seal.Environment("NONE", get)); err == nil ||
		!strings.Contains(err.Error(), "NONE") {
		t.Error(err)
	}
}

// TestPrograms: a program's ring, and what programs do wrong.
func TestPrograms(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ring")
	if err := seal.Store(path, servertest.RingText("new")); err != nil {
		t.Fatal(err)
	}
	r, err := seal.Open(t.Context(), seal.Exec(0, "cat", path))
	if err != nil || r.Active() != "new" {
		t.Fatal(r, err)
	}
	for name, c := range map[string]struct {
		program string
		args    []string
		want    string
	}{
		"fails":             {"sh", []string{"-c", "cat " + path + "; echo canary >&2; exit 3"}, "exit status 3"},
		"is not there":      {"/no/such/program", nil, "program"},
		"prints no end":     {"yes", []string{"canary"}, "did not end in time"},
		"hangs":             {"sleep", []string{"60"}, "did not end in time"},
		"leaves a child":    {"sh", []string{"-c", "sleep 60 & sleep 60"}, "did not end in time"},
		"prints too much":   {"sh", []string{"-c", "cat " + path + "; head -c 100000 /dev/zero"}, "longer"},
		"prints nothing":    {"true", nil, "should be"},
		"is not in a shell": {"echo", []string{"$(cat " + path + ")"}, "should be"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := seal.Open(t.Context(), seal.Exec(500*time.Millisecond, c.program, c.args...))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") ||
				shows(err.Error(), "new") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestReload: a ring that changes under load seals and opens all the time, and a
// bad one changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	text := servertest.RingText("a")
	r, err := seal.Open(t.Context(),
		func(context.Context) ([]byte, error) { mu.Lock(); defer mu.Unlock(); return text, nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				sealed, err := r.Seal(place, "x")
				if plain, failed := r.Open(place, sealed); err != nil || failed != nil || plain != "x" {
					t.Errorf("%q %v %v", plain, err, failed)
					return
				}
			}
		})
	}
	for i, next := range [][]byte{servertest.RingText("a", "b"), servertest.RingText("b", "a"), []byte("canary"),
		servertest.RingText("b", "a", "c"),
		servertest.RingText("c", "b", "a")} {
		mu.Lock()
		text = next
		mu.Unlock()
		if err := r.Reload(ctx); (err != nil) != (i == 2) {
			t.Errorf("%d: %v", i, err)
		}
	}
	stop()
	wg.Wait()
	if r.Active() != "c" || len(r.IDs()) != 3 {
		t.Errorf("%v %q", r, r.IDs())
	}
}

// TestMaking: new rings and keys, and that the order of a change of keys is
// possible and a wrong one is not.
func TestMaking(t *testing.T) {
	t.Parallel()
	text, first, err := seal.Generate()
	one, bad := seal.Parse(text)
	if err != nil || bad != nil || one.Active() != first {
		t.Fatal(one, err, bad)
	}
	sealed, _ := one.Seal(place, "x")
	text, second, err := seal.Add(text, false)
	if err != nil || second == first {
		t.Fatal(err)
	}
	if _, err := seal.Remove(text, first); err == nil {
		t.Error("the active key was removed")
	}
	if _, err := seal.Activate(text, "none"); err == nil {
		t.Error("a key that is not there was made active")
	}
	if _, err := seal.Remove(text, "none"); err == nil {
		t.Error("a key that is not there was removed")
	}
	if text, err = seal.Activate(text, second); err != nil {
		t.Fatal(err)
	}
	both, _ := seal.Parse(text)
	if plain, err := both.Open(place, sealed); err != nil || plain != "x" || both.Active() != second {
		t.Errorf("%q, %v, %v", plain, err, both)
	}
	if text, err = seal.Remove(text, first); err != nil {
		t.Fatal(err)
	}
	last, _ := seal.Parse(text)
	if _, err := last.Open(place, sealed); !errors.Is(err, seal.ErrUnknownKey) {
		t.Error(err)
	}
	if text, third, err := seal.Add(text, true); err != nil || !bytes.Contains(text, []byte(third)) {
		t.Error(err)
	}
}
