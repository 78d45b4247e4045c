package examples

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

// realKeys says how many keys the found keyspace has.
const realKeys = 4973

// TestRealWorldHasKnownFindingsOnly loads what was found into a real server and
// audits it, values included: the findings are those of findings.tsv, no more
// and no fewer.
func TestRealWorldHasKnownFindingsOnly(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) { realWorld(t, brand) })
	}
}

func realWorld(t *testing.T, brand keywrighttest.Brand) {
	s := keywrighttest.Start(t, brand)
	restore(t, s)
	report := auditAll(t, s.URL(), "realworld/keyspace.yaml")
	if !report.Complete || report.Total.Keys != realKeys {
		t.Errorf("%d of %d keys were seen: %v", report.Total.Keys, realKeys, report.Incomplete)
	}
	got := map[string]int64{}
	for _, f := range report.Findings {
		got[f.Code+" "+f.Entry] += f.Count
	}
	if diff := cmp.Diff(knownFindings(t), got); diff != "" {
		t.Errorf("known (-) and found (+) differ:\n%s", diff)
	}
	for _, e := range report.Entries {
		if e.Keys == 0 && !strings.HasSuffix(e.Name, ".fill") { // there while a value is being loaded only
			t.Errorf("%s has no keys: it is not of this keyspace", e.Name)
		}
	}
}

func auditAll(t *testing.T, url, file string) *audit.Report {
	t.Helper()
	ks, findings := load.File(os.DirFS("."), file)
	if len(findings) > 0 {
		t.Fatal(findings[0].Message)
	}
	a, err := audit.New(ks, audit.Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := connect.New(connect.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	report, err := a.Run(t.Context(), server.New(c, server.Options{OnlyDB: -1}), source.Request{Bytes: true})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// knownFindings returns the rows of findings.tsv: code and entry → count.
func knownFindings(t *testing.T) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile("realworld/findings.tsv")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]int64{}
	for _, row := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		c := strings.Split(row, "\t")
		n, err := strconv.ParseInt(c[2], 10, 64)
		if err != nil || len(c) != 4 {
			t.Fatalf("findings.tsv: %q has not code, entry, count and why", row)
		}
		known[c[0]+" "+c[1]] = n
	}
	if len(known) == 0 {
		t.Fatal("findings.tsv is empty: a test against nothing proves nothing")
	}
	return known
}

// restore sends the recorded commands (RESTORE of every key) and checks that
// each is answered with OK.
func restore(t *testing.T, s *keywrighttest.Server) {
	t.Helper()
	file, err := os.Open("realworld/testdata/realworld.resp.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	commands, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer context.AfterFunc(t.Context(), func() { conn.Close() })()
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(conn, commands)
		sent <- err
	}()
	answers := bufio.NewReader(conn)
	for n := range realKeys {
		if line, err := answers.ReadString('\n'); err != nil || line != "+OK\r\n" {
			t.Fatalf("key %d is answered with %q: %v", n, line, err)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}
