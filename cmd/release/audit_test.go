package main

import (
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// audited returns a tree with one package for npm and a program that calls a function of Go's library, and what the
// script says of it with some variables, and its exit code.
func audited(t *testing.T, env ...string) (said string, code int) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, auditScript), read(t, filepath.Join("../..", auditScript)))
	write(t, filepath.Join(dir, "go.work"), "go 1.26.0\n\nuse (\n\t.\n\t./cmd/keywright\n)\n")
	write(t, filepath.Join(dir, "go.mod"), "module "+root+"\n\ngo 1.26.0\n")
	write(t, filepath.Join(dir, "doc.go"), "package keywright\n")
	write(t, filepath.Join(dir, "cmd/keywright/go.mod"), "module "+root+"/cmd/keywright\n\ngo 1.26.0\n")
	write(t, filepath.Join(dir, "cmd/keywright/main.go"),
		"package main\n\nimport \"net/url\"\n\nfunc main() { url.Parse(\"\") }\n")
	web := filepath.Join(dir, filepath.FromSlash(dashDir), "web")
	write(t, filepath.Join(web, "package.json"),
		`{"name": "page", "dependencies": {"left": "1.0.0"}, "devDependencies": {"tool": "1.0.0"}}`)
	write(t, filepath.Join(web, "package-lock.json"), `{"name": "page", "lockfileVersion": 3, "packages": {
		"": {"name": "page", "dependencies": {"left": "1.0.0"}, "devDependencies": {"tool": "1.0.0"}},
		"node_modules/left": {"version": "1.0.0", "integrity": "sha512-AA=="},
		"node_modules/tool": {"version": "1.0.0", "integrity": "sha512-AA==", "dev": true}}}`)
	if hasTool(t) {
		write(t, filepath.Join(dir, ".bin/govulncheck"), read(t, "../../.bin/govulncheck"))
		must(t, os.Chmod(filepath.Join(dir, ".bin/govulncheck"), 0o755))
	}
	var out bytes.Buffer
	cmd := exec.Command("bash", filepath.Join(dir, auditScript))
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), append([]string{"GOPROXY=off", "VULNDB=file://" +
		database(t, "other/module")}, env...)...), &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// hasTool tells whether .bin has the govulncheck that the script runs.
func hasTool(t *testing.T) bool {
	_, version, _ := strings.Cut(read(t, filepath.Join("../..", auditScript)), "\ngovulncheck_version=")
	version, _, _ = strings.Cut(version, "\n")
	info, err := buildinfo.ReadFile("../../.bin/govulncheck")
	return err == nil && info.Main.Version == version
}

// database returns a folder with a database for govulncheck, of one vulnerability: in url.Parse of a module.
func database(t *testing.T, module string) string {
	dir := t.TempDir()
	const when = "2026-01-01T00:00:00Z"
	write(t, filepath.Join(dir, "index/db.json"), `{"modified": "`+when+`"}`)
	write(t, filepath.Join(dir, "index/modules.json"),
		`[{"path": "`+module+`", "vulns": [{"id": "GO-2026-0001", "modified": "`+when+`"}]}]`)
	write(t, filepath.Join(dir, "index/vulns.json"), `[{"id": "GO-2026-0001", "modified": "`+when+`"}]`)
	write(t, filepath.Join(dir, "ID/GO-2026-0001.json"), `{"schema_version": "1.3.1", "id": "GO-2026-0001",
		"modified": "`+when+`", "published": "`+when+`", "summary": "It parses", "details": "It parses.",
		"database_specific": {"url": "https://example.com/GO-2026-0001", "review_status": "REVIEWED"},
		"affected": [{"package": {"name": "`+module+`", "ecosystem": "Go"},
			"ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
			"ecosystem_specific": {"imports": [{"path": "net/url", "symbols": ["Parse"]}]}}]}`)
	return dir
}

// registry returns a server that answers npm audit of the packages that have a vulnerability, of which minimist is one.
func registry(t *testing.T, status int, bad ...string) string {
	return answering(t, status, append(bad, "minimist")...)
}

// answering returns a server that answers npm audit of the packages that have a vulnerability.
func answering(t *testing.T, status int, bad ...string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost { // what there is of a package
			name := strings.TrimPrefix(r.URL.Path, "/")
			fmt.Fprintf(w, `{"name": %q, "dist-tags": {"latest": "1.0.0"},
				"versions": {"1.0.0": {"name": %[1]q, "version": "1.0.0"}}}`, name)
			return
		}
		w.WriteHeader(status)
		var rows []string
		asked, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		text, _ := io.ReadAll(asked) // what cannot be read names no package
		for _, name := range bad {
			if !strings.Contains(string(text), strconv.Quote(name)) {
				continue
			}
			rows = append(rows, fmt.Sprintf(`%q: [{"id": 7, "url": "https://example.com/7", "title": "it leaks", "severity": `+
				`"high", "vulnerable_versions": "<2", "cwe": [], "cvss": {"score": 0, "vectorString": null}}]`, name))
		}
		fmt.Fprintf(w, "{%s}", strings.Join(rows, ","))
	}))
	t.Cleanup(s.Close)
	return "npm_config_registry=" + s.URL + "/"
}

// silent returns a database that takes questions and never answers.
func silent(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return "http://" + l.Addr().String()
}

// TestAuditScript: what is found, what is not, and what could not be asked are three answers, one line for each
// question. Only what is in a release is a failure. Where .bin has govulncheck, it reads a database of files.
func TestAuditScript(t *testing.T) {
	nothing := httptest.NewServer(nil)
	nothing.Close()
	const noModules = "not checked: Go modules, because govulncheck cannot be installed: "
	for _, c := range []struct {
		name    string
		env     []string
		modules string // with govulncheck
		says    []string
		code    int
	}{
		{"clean", []string{registry(t, 200)}, "checked: Go modules by govulncheck and file://", []string{
			"\nchecked: npm packages in the dashboard by npm audit: no known vulnerability\n",
			"\nchecked: npm packages that build and test the dashboard by npm audit: no known vulnerability\n"}, 0},
		{"in the page", []string{registry(t, 200, "left")}, "checked: Go modules ",
			[]string{"left: high: it leaks https://example.com/7\nfound: npm packages in the dashboard: 1 known"}, 1},
		{"in a tool", []string{registry(t, 200, "tool")}, "checked: Go modules ",
			[]string{"\nchecked: npm packages in the dashboard by npm audit", "\nfound: npm packages that build and test"}, 0},
		{"npm is told to ask nobody", []string{registry(t, 200, "left"), "npm_config_offline=true"}, "checked: Go modules ",
			[]string{"found: npm packages in the dashboard: 1 known"}, 1},
		{"npm is told to leave tools out", []string{registry(t, 200, "tool"), "NODE_ENV=production"}, "checked: Go modules ",
			[]string{"\nfound: npm packages that build and test"}, 0},
		{"refused", []string{registry(t, 405)}, "checked: Go modules ",
			[]string{"\nnot checked: npm packages in the dashboard, because of npm: 405 Method Not Allowed",
				"\nnot checked: npm packages that build and test the dashboard, because of npm: 405"}, 0},
		{"no network", []string{"npm_config_registry=" + nothing.URL, "VULNDB=" + nothing.URL},
			"not checked: Go modules, because of govulncheck: ",
			[]string{"\nnot checked: npm packages in the dashboard, because of npm: ", "ECONNREFUSED"}, 0},
		{"a registry that knows nothing", []string{answering(t, 200)}, "checked: Go modules ",
			[]string{"\nnot checked: npm packages in the dashboard, because npm's registry knows no vulnerability of minimist 0.0.8"},
			0},
		{"no answer", []string{registry(t, 200), "VULNDB=" + silent(t), "AUDIT_SECONDS=1"},
			"not checked: Go modules, because govulncheck had no answer in 1 s", []string{"\nchecked: npm packages"}, 0},
		{"in Go", []string{registry(t, 200), "VULNDB=file://" + database(t, "stdlib")},
			"found: Go modules: 1 known by govulncheck", []string{"\nchecked: npm packages in the dashboard"}, 1},
	} {
		said, code := audited(t, c.env...)
		if !hasTool(t) {
			c.modules = noModules
			if c.name == "in Go" {
				c.code = 0
			}
		}
		for _, want := range append(c.says, c.modules) {
			if !strings.Contains("\n"+said, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, said)
			}
		}
		if answers := answersOf(said); len(answers) != 3 || code != c.code {
			t.Errorf("%s: exit code %d, not %d, and %d answers:\n%s", c.name, code, c.code, len(answers), said)
		}
	}
}

// TestFindingsRefuse: a release with a vulnerability that is known is not made, unless it is accepted; what was not
// checked does not stop it. The end of a release says which it was.
func TestFindingsRefuse(t *testing.T) {
	for _, c := range []struct {
		script string
		accept bool
		fails  string
		says   string
	}{
		{"echo checked: a; echo not checked: b; echo checked: c; echo noise", false, "",
			"Known vulnerabilities:\n  checked: a\n  not checked: b\n  checked: c\n\n"},
		{"echo checked: a; echo found: b; exit 1", false, "there is a known vulnerability in what would be released", ""},
		{"echo checked: a; echo found: b; exit 1", true, "",
			"  checked: a\n  found: b\n  these were accepted: -accept-findings\n"},
		{"exit 1", true, "exit status 1", ""},
		{"exit 2", false, "exit status 2", ""},
		{"exit 1; echo checked: a", true, "exit status 1", ""},
		{"echo checked: a; exit 1", true, "exit status 1", ""},
		{"echo; true", false, "has 0 answers", ""},
	} {
		r := newToy(t, toy(t, map[string]string{auditScript: c.script + "\n"}), "0.1.0")
		must(t, r.check(t.Context()))
		var said bytes.Buffer
		r.offline, r.accept, r.out = false, c.accept, io.Discard
		err := r.audit(t.Context())
		if err == nil {
			r.modules, r.out = []module{{dir: "."}}, &said
			must(t, r.report())
		}
		if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) ||
			!strings.Contains(said.String(), c.says) {
			t.Errorf("%s, %v: %v\n%s", c.script, c.accept, err, said.String())
		}
	}
}
