package command

import (
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// What cannot end well is refused before the server is asked for a single key: the
// server counts what it was asked.
func TestRefusedBeforeTheScan(t *testing.T) {
	t.Chdir(t.TempDir())
	server := keywrighttest.Start(t, keywrighttest.Brands()[0])
	server.Do("SET", "a", "1")
	for name, text := range map[string]string{
		"keyspace.yaml": "keywright: 1\nkeys: {a: {key: a, type: string, ttl: any}}\n",
		"broken.json":   "{",
		"there.yaml":    "keywright: 1\n",
		"sub/file":      "",
	} {
		if err := os.MkdirAll("sub", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		args, says string
		code       int
	}{
		{"audit --baseline nosuch.json", "the baseline cannot be read", exitUsage},
		{"audit --baseline broken.json", "broken.json: ", exitUsage},
		{"audit --baseline nodir/b.json --update-baseline", "the baseline cannot be written: nodir: no such file or directory", exitUsage},
		{"audit --baseline sub --update-baseline", "sub is no regular file", exitUsage},
		{"audit --update-baseline", "needs a baseline to write", exitUsage},
		{"audit --fail-on nosuch", `--fail-on "nosuch"`, exitUsage},
		{"audit -o nosuch", `--output "nosuch"`, exitUsage},
		{"audit --values=nosuch", `--values "nosuch"`, exitUsage},
		{"audit --read-from nosuch", `--read-from "nosuch"`, exitUsage},
		{"audit --progress nosuch", `--progress "nosuch"`, exitUsage},
		{"audit --include nosuch", `no entry "nosuch"`, exitUsage},
		{"audit --keys-of KW999", `--keys-of "KW999"`, exitUsage},
		{"audit --db 99", "has no database 99: it has 16, 0 to 15", exitUsage},
		{"audit --db 99 --snapshot", "has no database 99: it has 16, 0 to 15", exitUsage},
		{"top --db 99", "has no database 99", exitUsage},
		{"top --by nosuch", `--by "nosuch"`, exitUsage},
		{"infer --db 99", "has no database 99", exitUsage},
		{"infer --to nodir/k.yaml", "the draft cannot be written: nodir: no such file or directory", exitUsage},
		{"infer --to there.yaml", "there.yaml exists already", exitRefused},
		{"infer --merge nosuch.yaml", "nosuch.yaml does not exist", exitUsage},
		{"init sub/file/deep --from URL", "the declaration cannot be written: sub/file", exitUsage},
		{"backup --db 99 --to a.kwa", "has no database 99", exitUsage},
		{"ls --db 99", "has no database 99", exitUsage},
	} {
		server.Do("CONFIG", "RESETSTAT")
		args := strings.Fields(strings.ReplaceAll(test.args, "URL", server.URL()))
		if args[0] != "init" {
			args = append(args, "-u", server.URL())
		}
		var out, errs strings.Builder
		code := Main(t.Context(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
		if code != test.code || !strings.Contains(errs.String(), test.says) {
			t.Errorf("%s: exit code %d\n%s%s", test.args, code, out.String(), errs.String())
		}
		stats, _ := server.Do("INFO", "commandstats").(string)
		for _, asked := range []string{"scan", "psync", "sync", "type", "pttl"} {
			if strings.Contains(stats, "cmdstat_"+asked+":") {
				t.Errorf("%s: the server was asked to %s", test.args, asked)
			}
		}
	}
}
