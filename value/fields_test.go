package value_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/keywright/keywright/value"
)

type secret struct {
	Plain, Hidden string
	Maybe         *string
}

var (
	secretColumns = []value.Column[secret]{
		value.Required("plain", text, func(v *secret) *string { return &v.Plain }),
		value.Encrypted(value.Required("hidden", text, func(v *secret) *string { return &v.Hidden })),
		value.Encrypted(value.Optional("maybe", text, func(v *secret) **string { return &v.Maybe })),
	}
	secrets = value.Fields[secret]{Columns: secretColumns}
	// secretsRead says what generated code makes: it reads plain texts.
	secretsRead = value.Fields[secret]{Columns: secretColumns, Read: func(fields map[string]string) (secret, error) {
		return secret{Plain: fields["plain"], Hidden: fields["hidden"]}, nil
	}}
)

func wrap(field, text string) (string, error) { return field + "<" + text + ">", nil }

func unwrap(field, text string) (string, error) {
	inner, ok := strings.CutPrefix(strings.TrimSuffix(text, ">"), field+"<")
	if !ok {
		return "", errors.New("does not open")
	}
	return inner, nil
}

// TestSealedColumns: what is sealed and only that goes through the sealer, both
// ways, and the map that is read stays as it was.
func TestSealedColumns(t *testing.T) {
	t.Parallel()
	args, err := secrets.AppendSealed(nil, &secret{Plain: "a", Hidden: "b"}, wrap)
	if got := strings.Join(args, " "); err != nil || got != "plain a hidden hidden<b>" {
		t.Fatalf("%s, %v", got, err)
	}
	stored := map[string]string{"plain": "a", "hidden": "hidden<b>"}
	for _, f := range []*value.Fields[secret]{&secrets, &secretsRead} {
		if v, err := f.ParseSealed(stored, unwrap); err != nil || v.Hidden != "b" || v.Maybe != nil ||
			stored["hidden"] != "hidden<b>" {
			t.Errorf("%+v, %v", v, err)
		}
		if _, err := f.ParseSealed(map[string]string{"plain": "a", "hidden": "maybe<b>"}, unwrap); err == nil {
			t.Error("what does not open was read")
		}
	}
	if !secrets.HasSealed() || fields.HasSealed() {
		t.Error("HasSealed is wrong")
	}
}

// TestNothingToSealWith: no plain text is stored, and no sealed one taken for
// plain, because someone forgot the sealer.
func TestNothingToSealWith(t *testing.T) {
	t.Parallel()
	if args, err := secrets.Append(nil, &secret{Hidden: "b"}); err == nil {
		t.Errorf("%q was written", args)
	}
	if v, err := secrets.Parse(map[string]string{"plain": "a", "hidden": "b"}); err == nil {
		t.Errorf("%+v was read", v)
	}
}

// TestPlainColumnsCostNothing: a struct without sealed columns is written as
// before.
func TestPlainColumnsCostNothing(t *testing.T) {
	plain := value.Fields[secret]{Columns: secretColumns[:1], Read: secretsRead.Read}
	args, v, key := make([]string, 0, 8), secret{Plain: "a"}, strings.Repeat("k", 9)
	stored := map[string]string{"plain": "a"}
	if n := testing.AllocsPerRun(100, func() {
		seals := func(field, text string) (string, error) { return key + field + text, nil }
		_, _ = plain.AppendSealed(args, &v, seals)
		_, _ = plain.ParseSealed(stored, seals)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
