package infer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/source"
)

// name returns a word that no vocabulary has, another one for each number below 169.
func name(n int) string { return string([]byte{'k' + byte(n%13), 'a', 'm' + byte(n/13), 'o', 'v'}) }

// patterns returns those of a draft, sorted.
func patterns(t *testing.T, lines []string) (out []string) {
	var keys []source.Key
	for _, line := range lines {
		keys = append(keys, key(line))
	}
	for _, e := range draft(t, keys).Entries {
		out = append(out, fmt.Sprintf("%s %d", e.Pattern, e.Keys))
	}
	slices.Sort(out)
	return out
}

// TestTenants: words that lead to the same names are one placeholder, however many keys each has.
func TestTenants(t *testing.T) {
	for _, each := range []int{1, 3, 60} {
		var lines []string
		for i := range 40 {
			for k := range each {
				lines = append(lines, fmt.Sprintf("%s:user:%d hash", name(i), k), fmt.Sprintf("%s:order:%d string", name(i), k),
					fmt.Sprintf("%s:session:%d string 1h", name(i), k))
			}
		}
		got := patterns(t, lines)
		if len(got) != 3 || !strings.HasPrefix(got[0], "{tenant}:order:{") || !strings.HasPrefix(got[1],
			"{tenant}:session:{") ||
			!strings.HasPrefix(got[2], "{tenant}:user:{") || !strings.HasSuffix(got[0], fmt.Sprint(" ", 40*each)) {
			t.Errorf("%d keys each: %q", each, got)
		}
	}
}

// TestFamiliesStayApart: a word with many keys is the name of a family, whether there are 15 of them or 16, or 100.
func TestFamiliesStayApart(t *testing.T) {
	for _, families := range []int{2, 15, 16, 17, 24, 25, 65, 100} {
		var lines []string
		for i := range families {
			for k := range 50 + i*i*13%97 {
				lines = append(lines, fmt.Sprintf("cache:%s:%d string 1h", name(i), k))
			}
		}
		if got := patterns(t, lines); len(got) != families {
			t.Errorf("%d families are %d entries: %.300q", families, len(got), got)
		}
	}
}

// TestMistakesAreNotDeclared: what a language prints for nothing is no value of a placeholder, and is reported.
func TestMistakesAreNotDeclared(t *testing.T) {
	var keys []source.Key
	for i := range 100 {
		keys = append(keys, key(fmt.Sprintf("user:%d hash", i)))
	}
	for _, line := range []string{"user:null hash", "user:undefined hash", "user:NaN hash", "user:%s hash",
		"user:7: hash"} {
		keys = append(keys, key(line))
	}
	d := draft(t, keys)
	var why []string
	for _, l := range d.Left {
		why = append(why, l.String())
	}
	if len(d.Entries) != 1 || d.Entries[0].Keys != 100 || d.Entries[0].Pattern != "user:{user_id}" || len(why) != 5 ||
		!strings.Contains(strings.Join(why, "\n"), "1 key: a program put the name together by mistake: null") {
		t.Errorf("%v, left %q", d.Entries[0].Pattern, why)
	}
}
