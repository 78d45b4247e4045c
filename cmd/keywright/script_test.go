package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// programs lists those that the tests find in PATH.
var programs = map[string]func(){"keywright": main}

func TestMain(m *testing.M) {
	testscript.Main(m, programs)
}

// TestScripts runs testdata/script/<verb>/*.txtar. KEYWRIGHT_UPDATE=1 rewrites
// the golden files in them.
func TestScripts(t *testing.T) {
	t.Parallel()
	verbs, err := filepath.Glob("testdata/script/*")
	if err != nil || len(verbs) < 12 {
		t.Fatalf("%d folders of scripts, %v", len(verbs), err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range verbs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%d scripts, %v", len(files), err)
			}
			testscript.Run(t, testscript.Params{
				Files: files, RequireExplicitExec: true, RequireUniqueNames: true, UpdateScripts: os.Getenv("KEYWRIGHT_UPDATE") != "",
				Setup: func(env *testscript.Env) error {
					env.Setenv("ROOT", root)
					env.Setenv("GORACE", "atexit_sleep_ms=0") // else every run with -race ends with a second of sleep
					env.Setenv("GOGC", "off")                 // most of them are over before there is something to collect
					env.Values["tb"], env.Values["values"] = env.T().(testing.TB), env.Values
					env.Values["names"] = append(namesOf(env.Vars), "URL", "ADDR", "SOCKET", "CA", "CERT", "KEY", "OTHERCA")
					return nil
				},
				Cmds: commands,
			})
		})
	}
}

// commands say what the scripts can say beside testscript's own words.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"run":       run,
	"server":    startServer,
	"cluster":   startCluster,
	"redis":     askServer,
	"reply":     printReply,
	"fill":      fillServer,
	"exits":     exits,
	"mask":      mask,
	"absent":    absent,
	"interrupt": interrupt,
	"terminal":  onTerminal,
	"dump":      dumpServer,
	"cut":       cutFile,
	"alike":     alike,
	"sealed":    putSealed,
	"ringid":    ringID,
	"setuser":   setUser,
	"restart":   func(ts *testscript.TestScript, _ bool, _ []string) { server(ts).Restart() },
}

func server(ts *testscript.TestScript) *keywrighttest.Server {
	s, ok := ts.Value("server").(*keywrighttest.Server)
	if !ok {
		ts.Fatalf("the script has started no server")
	}
	return s
}

// values returns the values of a script, so that a command can keep one.
func values(ts *testscript.TestScript) map[any]any { return ts.Value("values").(map[any]any) }

// startServer is `server redis|valkey [password PW] [tls] [config NAME VALUE…]`:
// it starts one for the script and sets URL, ADDR, SOCKET and, with tls, CA, OTHERCA,
// CERT and KEY.
func startServer(ts *testscript.TestScript, _ bool, args []string) {
	tb := ts.Value("tb").(testing.TB)
	brand := keywrighttest.Brand(args[0] + "-server")
	var options []keywrighttest.Option
	for i := 1; i < len(args); i++ {
		switch args[i] {
		case "password":
			i++
			options = append(options, keywrighttest.Password(args[i]))
		case "tls":
			c := keywrighttest.NewCertificates(tb)
			for name, file := range map[string]string{"CA": c.CA, "CERT": c.ClientCert, "KEY": c.ClientKey,
				"OTHERCA": c.OtherCA} {
				ts.Setenv(name, file)
			}
			options = append(options, keywrighttest.TLS(c))
		case "config":
			options = append(options, keywrighttest.Config(args[i+1:]...))
			i = len(args)
		}
	}
	s := keywrighttest.Start(tb, brand, options...)
	values(ts)["server"] = s
	ts.Setenv("URL", s.URL())
	ts.Setenv("ADDR", s.Addr())
	ts.Setenv("SOCKET", s.Socket())
}

// setUser is `setuser FILE`: it makes the user of a line of acl print, with the
// password "secret".
func setUser(ts *testscript.TestScript, _ bool, args []string) {
	words := strings.Fields(ts.ReadFile(args[0]))
	server(ts).Do(append([]string{"ACL", "SETUSER"}, append(words[1:], ">secret")...)...)
}

// startCluster is `cluster redis|valkey KEY…`: three primaries with those keys
// as strings that expire in ten minutes; it sets URL.
func startCluster(ts *testscript.TestScript, _ bool, args []string) {
	c := keywrighttest.StartCluster(ts.Value("tb").(testing.TB), keywrighttest.Brand(args[0]+"-server"), 3, 0)
	ts.Setenv("URL", c.URL())
	for _, key := range args[1:] {
		stored := 0
		for _, node := range c.Nodes {
			if _, err := node.Try("SET", key, "x", "EX", "600"); err == nil {
				stored++
			}
		}
		if stored != 1 {
			ts.Fatalf("%d nodes took %s", stored, key)
		}
	}
}

// askServer is `redis COMMAND ARG…`; an ARG may be a Go string in quotes, the
// last one @stdout: the rules of the ACL line that was printed last.
func askServer(ts *testscript.TestScript, _ bool, args []string) {
	for i, a := range args {
		if raw, err := strconv.Unquote(a); err == nil {
			args[i] = raw
		}
	}
	if last := len(args) - 1; args[last] == "@stdout" { // an ACL line: user NAME RULE…
		args = append(args[:last], strings.Fields(ts.ReadFile("stdout"))[2:]...)
	}
	_, err := server(ts).Try(args...)
	ts.Check(err)
}

// printReply is `reply COMMAND …`: what the server answers, for stdout.
func printReply(ts *testscript.TestScript, _ bool, args []string) {
	reply, err := server(ts).Try(args...)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), reply)
}

// fillServer is `fill N PREFIX [SECONDS]`: N strings PREFIX0, PREFIX1, …
func fillServer(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var list [][]string
	for i := range n {
		list = append(list, append([]string{"SET", args[1] + strconv.Itoa(i), "x"}, ttl(args[2:])...))
	}
	server(ts).Pipe(list...)
}

func ttl(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	return []string{"EX", args[0]}
}

// dumpServer is `dump FILE`: what the server saves, as a file of the script.
func dumpServer(ts *testscript.TestScript, _ bool, args []string) {
	s := server(ts)
	s.Await("rdb_bgsave_in_progress", "0") // the child of a snapshot that was just sent
	s.Do("SAVE")
	p, err := os.ReadFile(filepath.Join(s.Dir, "dump.rdb"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), p, 0o666))
}

// cutFile is `cut FILE gzip|zstd|N|flip OUT`: the file compressed, its first N
// bytes, or with one bit in the middle turned.
func cutFile(ts *testscript.TestScript, _ bool, args []string) {
	p := []byte(ts.ReadFile(args[0]))
	var out bytes.Buffer
	switch args[1] {
	case "gzip":
		z := gzip.NewWriter(&out)
		_, err := z.Write(p)
		ts.Check(errors.Join(err, z.Close()))
	case "zstd":
		z, err := zstd.NewWriter(&out)
		ts.Check(err)
		_, err = z.Write(p)
		ts.Check(errors.Join(err, z.Close()))
	case "flip":
		p[len(p)/2] ^= 1
		out.Write(p)
	default:
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		if n < 0 {
			n += len(p)
		}
		out.Write(p[:n])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), out.Bytes(), 0o666))
}

// alike is `alike A B`: two JSON reports agree on keys, types, classes of TTLs
// and findings. What differs between a scan and a snapshot is left out: where and
// how it was read, bytes of tables, and the seconds that TTLs lost meanwhile.
func alike(ts *testscript.TestScript, _ bool, args []string) {
	var reports [2]any
	for i := range reports {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[i])), &reports[i]))
		reports[i] = stripped(reports[i])
	}
	if d := cmp.Diff(reports[0], reports[1]); d != "" {
		ts.Fatalf("%s and %s differ:\n%s", args[0], args[1], d)
	}
}

// differing lists the fields of a report that two sources need not agree on.
var differing = []string{"server", "endpoint", "seconds", "max_repeats", "notes", "estimated_bytes", "bytes", "share",
	"largest", "encoding", "elements", "stored_bytes", "idle_seconds", "min", "p50", "p90", "max"}

func stripped(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range differing {
			delete(v, name)
		}
		for name := range v {
			v[name] = stripped(v[name])
		}
	case []any:
		for i := range v {
			v[i] = stripped(v[i])
		}
	}
	return v
}

// exits is `exits CODE run ARG…` or `exits CODE exec PROGRAM ARG…`: run or exec, and the very exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var got int
	if args[1] == "exec" {
		got = codeOf(ts.Exec(args[2], args[3:]...))
	} else {
		got = runCommand(ts, args[2:]).Code
	}
	if got != want {
		ts.Fatalf("%s exits with %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

func codeOf(err error) int {
	var e *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.ExitCode()
	}
	return -1
}

var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST:PORT"},
	{regexp.MustCompile(`(redis|valkey) \d+\.\d+\.\d+`), "BRAND VERSION"},
	{regexp.MustCompile(`read in \S+ \([\d,]+ keys/s\)`), "read in TIME (RATE keys/s)"},
	{regexp.MustCompile(`[\d.]+ [KM]?i?B\b`), "SIZE"},
	{regexp.MustCompile(`"(seconds|bytes|share|min|p50|p90|max)": [\d.e+-]+`), `"$1": N`},
	{regexp.MustCompile(`[ ─]{2,}`), "  "},
	{regexp.MustCompile(`(\d+[dhms])+(–(\d+[dhms])+)?`), "TIME"},
	{regexp.MustCompile(`[\d.]+%`), "N%"},
}

// mask is `mask stdout|stderr|FILE`: it writes the file masked, with what
// differs from run to run replaced.
func mask(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	for _, m := range masks {
		text = m.what.ReplaceAllString(text, m.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs("masked"), []byte(text), 0o666))
}

// absent is `absent TEXT`: neither output of the last exec holds TEXT, nor any
// piece of it of five bytes.
func absent(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range []string{"stdout", "stderr"} {
		text := ts.ReadFile(file)
		for i := 0; i+5 <= len(args[0]); i++ {
			if strings.Contains(text, args[0][i:i+5]) {
				ts.Fatalf("%s holds %q of %q:\n%s", file, args[0][i:i+5], args[0], text)
			}
		}
	}
}

// environment returns what a script has set and a program started by a command needs.
func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TERM", "NO_COLOR", "KEYWRIGHT_URL", "GOCOVERDIR", "GORACE"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func program(ts *testscript.TestScript, args []string) *exec.Cmd {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, args[0])
		if _, err := os.Stat(path); err == nil {
			return &exec.Cmd{Path: path, Args: args, Dir: ts.MkAbs("."), Env: environment(ts)}
		}
	}
	ts.Fatalf("there is no %s in PATH", args[0])
	return nil
}

// interrupt is `interrupt CODE PROGRAM ARG…`: it starts the program, sends it
// SIGINT when it has asked the server for its fourth page of keys, and puts what
// it wrote into out and err.
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	s := server(ts)
	s.Do("CONFIG", "RESETSTAT")
	c := program(ts, args[1:])
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	ts.Check(c.Start())
	tb := ts.Value("tb").(testing.TB)
	tb.Cleanup(func() { _ = c.Process.Kill() })
	expect.Eventually(tb, "the program asks for its fourth page", func() bool { return scans(s) >= 4 })
	ts.Check(c.Process.Signal(syscall.SIGINT))
	code := codeOf(c.Wait())
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(out.String()), 0o666))
	ts.Check(os.WriteFile(ts.MkAbs("err"), []byte(errs.String()), 0o666))
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exits with %d, not %s\n%s", code, args[0], errs.String())
	}
}

// scans returns how often the server was asked to SCAN.
func scans(s *keywrighttest.Server) int {
	n := 0
	_, _ = fmt.Sscanf(s.Info("cmdstat_scan"), "calls=%d", &n)
	return n
}
