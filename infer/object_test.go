package infer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/source"
)

// TestMembersAreDraftedByTheirForm: a number in JSON is a number, and a string is text,
// whatever it looks like.
func TestMembersAreDraftedByTheirForm(t *testing.T) {
	for _, c := range []struct{ members, want string }{
		{`1 2 3`, "int"}, {`"1" "2" "3"`, "text"}, {`1 "2"`, "json"}, {`1.5 2`, "float"}, {`1e400 1`, "float"},
		{`-0 1`, "float"}, {`123456789012345678901 1`, "float"},
		{`1234567890123456 2234567890123456 3234567890123456`, "int"},
		{`true false`, "bool"}, {`"true" "false"`, "text"}, {`true 1`, "json"}, {`{} 1`, "json"}, {`[] []`, "json"},
		{`1700000000 1700000001`, "unix_s"}, {`"1700000000" "1700000001"`, "text"},
		{`1700000000000 1700000000001`, "unix_ms"},
		{`"2026-01-01" "2026-01-02"`, "date"}, {`"\u0000" "\u0001"`, "text"}, {`"[]" "{}"`, "text"},
		{`null 1`, "int optional"}, {`null null`, "text optional"},
		{`"00ff00ff00ff00ff" "10ff00ff00ff00ff" "20ff00ff00ff00ff"`, "hex 16"},
		{strings.Repeat(`"free" "pro" `, 20), "free|pro"}, {strings.Repeat(`"free" 1 `, 20), "json"},
	} {
		in, err := infer.New(infer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var keys []source.Key
		for i, raw := range strings.Fields(c.members) {
			keys = append(keys, source.Key{Name: fmt.Appendf(nil, "doc:%d", i+1), Kind: source.String, TTL: time.Hour, Bytes: 90,
				Value: &source.Value{Str: fmt.Appendf(nil, `{"one":%s}`, raw)}})
		}
		in.Add(keys)
		text := string(in.Draft().YAML())
		if !strings.Contains(text, "one: "+c.want+"\n") && !strings.Contains(text, "{one: "+c.want+"}") {
			t.Errorf("%s: want %q in\n%s", c.members, c.want, text)
		}
	}
}
