package command

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/spf13/pflag"
)

// What cannot end well is refused before the server is asked for a single key: the
// server counts what it was asked.
func TestRefusedBeforeTheScan(t *testing.T) {
	t.Chdir(t.TempDir())
	server := keywrighttest.Start(t, keywrighttest.Redis)
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
		{"audit --baseline nosuch.json", "the baseline cannot be read", cli.ExitUsage},
		{"audit --baseline broken.json", "broken.json: ", cli.ExitUsage},
		{"audit --baseline nodir/b.json --update-baseline",
			"the baseline cannot be written: nodir: no such file or directory", cli.ExitUsage},
		{"audit --baseline sub --update-baseline", "sub is no regular file", cli.ExitUsage},
		{"audit --update-baseline", "needs a baseline to write", cli.ExitUsage},
		{"audit --fail-on nosuch", `--fail-on "nosuch"`, cli.ExitUsage},
		{"audit -o nosuch", `--output "nosuch"`, cli.ExitUsage},
		{"audit --values=nosuch", `--values "nosuch"`, cli.ExitUsage},
		{"audit --read-from nosuch", `--read-from "nosuch"`, cli.ExitUsage},
		{"audit --progress nosuch", `--progress "nosuch"`, cli.ExitUsage},
		{"audit --include nosuch", `no entry "nosuch"`, cli.ExitUsage},
		{"audit --keys-of KW999", `--keys-of "KW999"`, cli.ExitUsage},
		{"audit --db 99", "has no database 99: it has 16, 0 to 15", cli.ExitUsage},
		{"audit --db 99 --snapshot", "has no database 99: it has 16, 0 to 15", cli.ExitUsage},
		{"top --db 99", "has no database 99", cli.ExitUsage},
		{"top --by nosuch", `--by "nosuch"`, cli.ExitUsage},
		{"infer --db 99", "has no database 99", cli.ExitUsage},
		{"infer --to nodir/k.yaml", "the draft cannot be written: nodir: no such file or directory", cli.ExitUsage},
		{"infer --to there.yaml", "there.yaml exists already", cli.ExitRefused},
		{"infer --merge nosuch.yaml", "nosuch.yaml does not exist", cli.ExitUsage},
		{"init sub/file/deep --from URL", "the declaration cannot be written: sub/file", cli.ExitUsage},
		{"backup --db 99 --to a.kwa", "has no database 99", cli.ExitUsage},
		{"ls --db 99", "has no database 99", cli.ExitUsage},
	} {
		args := strings.Fields(strings.ReplaceAll(test.args, "URL", server.URL()))
		if args[0] != "init" {
			args = append(args, "-u", server.URL())
		}
		refusedFirst(t, server, args, test.code, test.says)
	}
}

// refusedFirst runs a command that is refused: the server is asked for no key.
func refusedFirst(t *testing.T, server *keywrighttest.Server, args []string, want int, says string) {
	t.Helper()
	server.Do("CONFIG", "RESETSTAT")
	var out, errs strings.Builder
	code := Main(t.Context(), args,
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
	if code != want || !strings.Contains(errs.String(), says) {
		t.Errorf("%s: exit code %d\n%s%s", strings.Join(args, " "), code, out.String(), errs.String())
	}
	stats, _ := server.Do("INFO", "commandstats").(string)
	for _, asked := range []string{"scan", "psync", "sync", "type", "pttl"} {
		if strings.Contains(stats, "cmdstat_"+asked+":") {
			t.Errorf("%s: the server was asked to %s", strings.Join(args, " "), asked)
		}
	}
}

// badFlags say what each flag with a text, or with limits, is refused for. A flag of
// another type has no limits but those of its type, which are tried for all. After a dash:
// why no text is refused.
var badFlags = map[string][]string{
	"url": {"-u=nosuch://x"}, "tls-ca": {"--tls-ca=nosuch.pem"}, "tls-cert": {"--tls-cert=nosuch.pem"},
	"tls-key":         {"--tls-key=nosuch.pem"},
	"tls-server-name": {"- any name may be in a certificate"}, "timeout": {"--timeout=0s", "--timeout=-1s"},
	"namespace": {"--namespace=nosuch"},
	"snapshot":  {"--snapshot --rate=5", "--snapshot --max-latency=5ms", "--snapshot --no-crc"},
	"forks":     {"--forks=2", "--snapshot --forks=0"}, "no-crc": {"--no-crc"},
	"identity": {"- it is read with an archive"}, "keys-file": {"- it is read with an archive"},
	"base":   {"- it is read with an archive"},
	"sample": {"--sample=-1"}, "rate": {"--rate=-1"}, "max-latency": {"--max-latency=-1s"},
	"read-from": {"--read-from=nosuch", "--read-from="}, "db": {"--db=-2", "--db=99"},
	"progress": {"--progress=nosuch", "--progress="}, "output": {"-o=nosuch", "-o="},
	"file": {"-f=nosuch.yaml", "-f=broken.yaml"}, "color": {"--color=nosuch", "--color="},
	"by": {"--by=nosuch", "--by="}, "limit": {"--limit=-1", "--limit=99999999999999999999"},
	"fail-on": {"--fail-on=nosuch", "--fail-on="}, "baseline": {"--baseline=nosuch.json", "--baseline=broken.json"},
	"update-baseline": {"--update-baseline"},
	"include":         {"--include=nosuch", "--include="}, "exclude": {"--exclude=nosuch", "--exclude="},
	"values": {"--values=nosuch", "--values="}, "min-keys": {"--min-keys=-1"},
	"groups": {"--groups=0", "--groups=-1", "--groups=100000"}, "top": {"--top=-1", "--top=100000"},
	"examples": {"--examples=-1", "--examples=100000"},
	"keys-of":  {"--keys-of=KW999", "--keys-of=", "--keys-of=KW508"}, "null": {"--null"},
	"checkpoint": {"--checkpoint=nodir/c"}, "part": {"--part=0/3 -o=partial", "--part=x -o=partial", "--part=1/3"},
	"merge": {"--merge=nosuch.yaml", "--merge=broken.yaml"}, "to": {"--to=nodir/k.yaml"},
	"from-doc": {"--from-doc=nosuch.md", "--from-doc="}, "migration": {"--migration=nosuch"},
	"entry": {"--entry=nosuch", "--entry="}, "owner": {"--owner=nosuch", "--owner="}, "match": {"--match="},
	"where": {"--where=nosuch", "--where=nosuch=1", "--where="},
}

// TestEveryFlagIsRefusedFirst: the flags are those that the commands have, so that a new
// one has its errors here, or a word why it has none.
func TestEveryFlagIsRefusedFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	server := keywrighttest.Start(t, keywrighttest.Redis)
	server.Do("SET", "a", "1")
	for name, text := range map[string]string{"keyspace.yaml": "keywright: 1\nkeys: {a: {key: a, type: string, ttl: any}}\n", "broken.json": "{", "broken.yaml": "keys: ["} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	used := map[string]bool{}
	for _, name := range []string{"audit", "top", "infer", "ls"} {
		c, _, err := New().Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		flags := 0
		try := func(f *pflag.Flag) {
			flags++
			used[f.Name] = true
			bad := slices.Clone(badFlags[f.Name])
			switch f.Value.Type() {
			case "string", "stringSlice", "stringArray":
				if len(bad) == 0 {
					t.Errorf("%s: no error of --%s is tried", name, f.Name)
				}
			default:
				bad = append(bad, "--"+f.Name+"=nosuch")
			}
			for _, args := range bad {
				if strings.HasPrefix(args, "- ") || f.Name == "help" || f.Name == "version" {
					continue
				}
				refusedFirst(t, server, append([]string{name, "-u", server.URL()}, strings.Fields(args)...), cli.ExitUsage, "")
			}
		}
		c.Flags().VisitAll(try)
		c.InheritedFlags().VisitAll(try)
		if flags < 20 {
			t.Errorf("%s has only %d flags: the search is broken", name, flags)
		}
	}
	for name := range badFlags {
		if !used[name] {
			t.Errorf("no command has --%s", name)
		}
	}
}
