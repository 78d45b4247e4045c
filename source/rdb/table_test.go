package rdb_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// beside are the bytes of what may stand beside values, by its name in the table.
var beside = map[string]func(c *craft) *craft{
	"242": func(c *craft) *craft { return c.raw(242).len(3).len(1).str("age") },
	"243": func(c *craft) *craft { return c.raw(243).len(1).raw(1, 2, 3, 4).raw(5).str("meta").raw(0) },
	"243 of Valkey": func(c *craft) *craft {
		return c.raw(243).str(strings.Repeat("j", 40)).len(1).len(5).len(9)
	},
	"244":         func(c *craft) *craft { return c.raw(244).len(9).len(1).len(1) },
	"245":         func(c *craft) *craft { return c.raw(245).str("#!lua name=lib") },
	"246":         func(c *craft) *craft { return c.raw(246).str("old").str("LUA").len(0).str("code") },
	"247":         func(c *craft) *craft { return c.raw(247, 0x81, 4, 16, 65, 4, 16, 65, 4, 1, 2, 1, 5).str("aux").raw(0) },
	"248":         func(c *craft) *craft { return c.raw(248).len(77) },
	"249":         func(c *craft) *craft { return c.raw(249, 9) },
	"250":         func(c *craft) *craft { return c.aux("nobody-knows", "it") },
	"251":         func(c *craft) *craft { return c.raw(251).len(1).len(0) },
	"252":         func(c *craft) *craft { return c.raw(252).u64(1_700_000_060_000) },
	"253":         func(c *craft) *craft { return c.raw(253, 0x20, 0xf1, 0x53, 0x65) },
	"254":         func(c *craft) *craft { return c.db(3) },
	"255":         func(c *craft) *craft { return c },
	"mvcc-tstamp": func(c *craft) *craft { return c.aux("mvcc-tstamp", "1") },
	"keydb-subexpire-when": func(c *craft) *craft {
		return c.aux("keydb-subexpire-key", "m").aux("keydb-subexpire-when", "1795728444975")
	},
}

// TestTableOfContents: the reader does with each thing what the page says, the page names each thing that the reader
// knows, and since which version.
func TestTableOfContents(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/snapshot-contents.md")
	if err != nil {
		t.Fatal(err)
	}
	types, opcodes := rdb.Known(false)
	samples := map[string]func(*craft) *craft{}
	for _, s := range every {
		name := fmt.Sprint(s.typ)
		if s.valkey {
			name += " of Valkey"
		}
		samples[name] = s.body
	}
	for version, typ := range []int{15, 19, 21, 26, 27} {
		samples[fmt.Sprint(typ)] = stream(version + 1)
	}
	samples["6"] = func(c *craft) *craft { return c.str("x") }
	samples["33"] = samples["6"]
	seen, word := map[string]bool{}, regexp.MustCompile("^`?([^`]*)`?$")
	section := ""
	for _, line := range strings.Split(string(page), "\n") {
		if rest, ok := strings.CutPrefix(line, "## "); ok {
			section = rest
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = word.ReplaceAllString(strings.TrimSpace(cells[i]), "$1")
		}
		if !strings.HasPrefix(line, "| ") || len(cells) != 5 || cells[2] == "since RDB" {
			continue
		}
		name, known := cells[1], types
		if section != "Values" {
			known = opcodes
		}
		seen[section+" "+name] = true
		if n, err := strconv.Atoi(name); err == nil && cells[2] != "" && fmt.Sprint(known[n]) != cells[2] {
			t.Errorf("%s %s: the page says since %s, and it is read since %d", section, name, cells[2], known[n])
		}
		magic := "REDIS0015"
		switch {
		case strings.HasSuffix(name, "of Valkey"):
			magic = "VALKEY080"
		case name == "6":
			magic = "REDIS0011"
		case name == "version":
			magic = "REDIS9999"
		}
		c := snapshot(magic).aux("redis-ver", "8.10.0").aux("ctime", "1700000000").db(0)
		if part := beside[name]; section != "Values" && part != nil {
			c = part(c).key(0, "k").str("x")
		} else if body := samples[name]; section == "Values" && body != nil {
			if magic == "REDIS0015" {
				c.raw(242).len(3).len(2).str("age").str("name")
			}
			typ, _ := strconv.Atoi(strings.TrimSuffix(name, " of Valkey"))
			c = body(c.key(byte(typ), "k"))
		} else if name != "version" {
			t.Errorf("%s %s: there is no sample", section, name)
			continue
		}
		file := c.end()
		_, sum, _ := collect(t, read(file), source.Request{})
		if got := summaryOf(&sum, cells[3]); got != cells[3] {
			t.Errorf("%s %s: audit: %s, and the page says %s: %+v %q", section, name, got, cells[3], sum.Incomplete, sum.Notes)
		}
		keys, libraries := 0, 0
		sum, _ = read(file).Contents(t.Context(), rdb.ContentsRequest{
			Library: func([]byte) error { libraries++; return nil },
		}, func(batch []source.Content) error { keys += len(batch); return nil })
		if got := summaryOf(&sum, cells[4]); got != cells[4] || got != "exit 5" && keys != 1 || name == "245" && libraries != 1 {
			t.Errorf("%s %s: move: %s, and the page says %s; %d keys, %+v %q", section, name, got, cells[4], keys,
				sum.Incomplete, sum.Notes)
		}
	}
	for n := range types {
		if !seen[fmt.Sprint("Values ", n)] {
			t.Errorf("the page says nothing about type %d", n)
		}
	}
	for n := range opcodes {
		if !seen[fmt.Sprint("Beside values ", n)] {
			t.Errorf("the page says nothing about opcode %d", n)
		}
	}
	if len(seen) < len(types)+len(opcodes)+5 {
		t.Errorf("only %d rows were found", len(seen))
	}
}

// summaryOf returns what a summary says of a thing, in the words of the page. What is read, carried or passed is in no
// note.
func summaryOf(sum *source.Summary, word string) string {
	switch {
	case len(sum.Incomplete) > 0:
		return "exit 5"
	case word == "carried" && len(sum.Notes) == 1: // it arrives, and a note says where from
		return word
	case len(sum.Notes) > 0:
		return "noted"
	case word == "noted":
		return "nothing"
	}
	return word
}
