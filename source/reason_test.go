package source_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright/source"
)

// TestReasons: each code has a sentence that names what is known, and its JSON is read back.
func TestReasons(t *testing.T) {
	t.Parallel()
	for _, code := range source.Codes() {
		for _, r := range []source.Reason{source.Why(code, "10.0.0.1:6379", errors.New("the cause")).In(3),
			source.Why(code, "", nil), {Code: code, Database: source.NoDatabase, More: 7}} {
			text, err := json.Marshal(r)
			var back source.Reason
			if err != nil || json.Unmarshal(text, &back) != nil || back != r {
				t.Errorf("%s: %+v, %v", text, back, err)
			}
			if said := r.String(); said == "" || strings.ContainsAny(said, "{}") || !strings.Contains(string(text), `"text":`) {
				t.Errorf("%s: %q", text, said)
			}
		}
	}
	if got := source.Why(source.Ended, "a:1", "EOF").In(0).String(); got != "a:1, database 0: EOF" {
		t.Error(got)
	}
	if got := source.Why("of a newer program", "", "{keys}").String(); got != "of a newer program {keys}" {
		t.Error(got)
	}
}

// TestCodesAreDocumented: the page of the JSON output names every code.
func TestCodesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range source.Codes() {
		if !strings.Contains(string(page), "`"+string(code)+"`") {
			t.Errorf("docs/json.md does not name %s", code)
		}
	}
}

// TestReasonsAreBounded: each reason is listed once, of one code at most a hundred, and the
// others are counted.
func TestReasonsAreBounded(t *testing.T) {
	t.Parallel()
	var all source.Reasons
	for i := range 1000 {
		why := source.Why(source.ValueCut, "a:1", fmt.Sprint("key ", i)).In(0)
		all = all.Add(why, source.Why(source.Restarted, "a:1", nil))
	}
	if n := len(all); n != 102 || !all.Has(source.Flushed, source.Restarted) || all.Has(source.Flushed) {
		t.Fatalf("%d reasons", n)
	}
	if last := all[len(all)-1]; last.More != 900 || last.String() != "and 900 more of this kind (value-cut)" {
		t.Errorf("%+v", last)
	}
}
