package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/gen/conformance"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// agree runs a file of vectors against package pattern.
func agree(t *testing.T, ks *keyspace.Keyspace, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f conformance.File
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		t.Fatal(err)
	}
	if len(f.Keys) != len(ks.Keys) || len(f.Channels) != len(ks.PubSub()) {
		t.Fatalf("%s: %d keys and %d channels of %d and %d", path, len(f.Keys), len(f.Channels), len(ks.Keys),
			len(ks.PubSub()))
	}
	refused := 0
	for i, s := range f.Keys {
		judge(t, s, ks.Keys[i].Pattern)
		refused += len(s.RejectBuild)
	}
	if refused == 0 {
		t.Errorf("%s: nothing is refused when building", path)
	}
	for i, s := range f.Channels {
		judge(t, s, ks.PubSub()[i].Pattern)
	}
}

func judge(t *testing.T, s conformance.Subject, p *pattern.Pattern) {
	t.Helper()
	if len(s.Build) == 0 || len(s.RejectParse) == 0 {
		t.Errorf("%s: %d to build, %d keys to refuse: a test over nothing proves nothing", s.Name, len(s.Build),
			len(s.RejectParse))
	}
	for _, v := range append(s.Build, s.Parse...) {
		key, err := p.Build(texts(v.Params)...)
		if err != nil || string(key) != string(v.Key) {
			t.Errorf("%s: Build(%q) = %q %v, want %q", s.Name, texts(v.Params), key, err, v.Key)
		}
		if got, ok := p.Match([]byte(v.Key)); !ok || !cmp.Equal(got, texts(v.Params)) {
			t.Errorf("%s: Match(%q) = %q %v, want %q", s.Name, v.Key, got, ok, texts(v.Params))
		}
	}
	for _, r := range s.RejectBuild {
		_, err := p.Build(texts(r.Params)...)
		var fault *pattern.ValueError
		if !errors.As(err, &fault) || fault.Placeholder != r.Placeholder || fault.Reason != r.Reason {
			t.Errorf("%s: Build(%q): %v, want %s %s", s.Name, texts(r.Params), err, r.Placeholder, r.Reason)
		}
	}
	for _, key := range s.RejectParse {
		if got, ok := p.Match([]byte(key)); ok {
			t.Errorf("%s: Match(%q) = %q", s.Name, key, got)
		}
	}
	for _, key := range s.NotText {
		got, ok := p.Match([]byte(key))
		if !ok || !hasBytes(got) {
			t.Errorf("%s: Match(%q) = %q %v, want a value that is not text", s.Name, key, got, ok)
		}
	}
}

func hasBytes(values []string) bool {
	for _, v := range values {
		if !utf8.ValidString(v) {
			return true
		}
	}
	return false
}

func texts(values []conformance.Value) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.Text
	}
	return out
}

// TestTheSameEveryTime: chance has a fixed seed.
func TestTheSameEveryTime(t *testing.T) {
	for _, file := range []string{"testdata/hostile.yaml", "testdata/usage.yaml"} {
		first, err := conformance.Generate(loaded(t, file))
		again, err2 := conformance.Generate(loaded(t, file))
		if err != nil || err2 != nil || !cmp.Equal(first, again) {
			t.Errorf("%s: two runs differ, or %v %v", file, err, err2)
		}
	}
}

func TestBytesSurviveJSON(t *testing.T) {
	for _, want := range []conformance.Bytes{"", "a", "\"\\", "\u2028", "\xff", "a\x00\xc3", "\ufffd"} {
		text, err := json.Marshal(want)
		var got conformance.Bytes
		if err2 := json.Unmarshal(text, &got); err != nil || err2 != nil || got != want {
			t.Errorf("%q is %s, which is %q (%v %v)", want, text, got, err, err2)
		}
	}
	for _, bad := range []string{"1", "{}", `{"hex": "x"}`, "[]", "null"} {
		if err := json.Unmarshal([]byte(bad), new(conformance.Bytes)); err == nil && bad != "null" {
			t.Errorf("%s is taken", bad)
		}
	}
}
