package server_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server"
)

// TestSupportedVersions: the page of supported servers and the README say what the code
// refuses, and which servers these tests run on.
func TestSupportedVersions(t *testing.T) {
	t.Parallel()
	if os.Getenv("KEYWRIGHT_SERVERS") != "" {
		t.Log("the page names the servers of each run, and these are others")
		return
	}
	lowest := server.Lowest()
	needs := fmt.Sprintf("Redis %s, Valkey %s", lowest["redis"], lowest["valkey"])
	var tested []string
	for _, brand := range keywrighttest.Brands() {
		s := keywrighttest.Start(t, brand)
		name, version := topology.ParseInfo(fmt.Sprint(s.Do("INFO", "server"))).Brand()
		major, minor, _ := strings.Cut(version, ".")
		minor, _, _ = strings.Cut(minor, ".")
		tested = append(tested,
			fmt.Sprintf("%s %s.%s", map[string]string{"redis": "Redis", "valkey": "Valkey"}[name], major, minor))
	}
	rows := 0
	for line := range strings.Lines(expect.Text(t, "../../docs/supported.md")) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 ||
			!strings.Contains(cells[1], "audit") && !strings.Contains(cells[1], "--snapshot") &&
				!strings.Contains(cells[4], "Valkey 8") {
			continue
		}
		rows++
		if on := strings.TrimSpace(cells[4]); !strings.HasSuffix(on, strings.Join(tested, ", ")) {
			t.Errorf("%sis tested on %s, and the page says %s", cells[1], strings.Join(tested, ", "), on)
		}
		audited := strings.Contains(cells[1], "`audit`") || strings.Contains(cells[1], "--snapshot")
		if got := strings.TrimSpace(cells[2]); audited && got != needs {
			t.Errorf("%sneeds %s, and the page says %s", cells[1], needs, got)
		}
	}
	if rows < 6 {
		t.Errorf("only %d rows were found: the search is broken", rows)
	}
	readme := fmt.Sprintf("tested on %s; an audit reads Redis from %s", strings.Join(tested, " and "), lowest["redis"])
	if !strings.Contains(expect.Text(t, "../../README.md"), readme) {
		t.Errorf("the README does not say %q", readme)
	}
}
