package seal_test

import (
	"errors"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
	"github.com/keywright/keywright/value/seal"
)

// TestRollingAdoption: at each step of the roll-out old and new processes read what
// the others write, and at its end plain text is refused.
func TestRollingAdoption(t *testing.T) {
	t.Parallel()
	r := ring(t, "new", "old")
	at := keywright.Place{Schema: "shop", Key: "k"}
	before := []string{"", "x", "+81 90 1234", "abcd",
		"a long text of letters, digits and 日本語 that is longer than a sealed one may be short"}
	writesPlain, seals := seal.Adopting{Ring: r, Plain: true}, seal.Adopting{Ring: r}
	for _, plain := range before {
		first, err := writesPlain.Seal(at, plain)
		if err != nil || first != plain {
			t.Fatalf("%q is written as %q: %v", plain, first, err)
		}
		second, err := seals.Seal(at, plain)
		if err != nil || second == plain {
			t.Fatalf("%q is written as it is: %v", plain, err)
		}
		for _, stored := range []string{first, second} {
			for _, reader := range []keywright.Sealer{writesPlain, seals} {
				if got, err := reader.Open(at, stored); err != nil || got != plain {
					t.Errorf("%q opens as %q: %v", plain, got, err)
				}
			}
		}
		if _, err := r.Open(at, first); !errors.Is(err, seal.ErrNotSealed) {
			t.Errorf("the ring takes the plain text %q: %v", plain, err)
		}
		if got, err := r.Open(at, second); err != nil || got != plain {
			t.Errorf("the ring does not open what is sealed: %q %v", got, err)
		}
	}
	sealed, _ := r.Seal(at, "secret")
	for name, text := range map[string]string{
		"changed":            sealed[:len(sealed)-1] + string([]byte{sealed[len(sealed)-1] ^ 1}),
		"of a later version": "\x02" + sealed[1:], "of another key": "\x01\x04lost" + sealed[5:]} {
		if got, err := seals.Open(at, text); err == nil {
			t.Errorf("what is %s opens as %q", name, got)
		}
		if _, err := writesPlain.Seal(at, text); err == nil {
			t.Errorf("what is %s is written as plain text", name)
		}
	}
}

// TestAdoptedMembers: members of objects that are plain JSON, whatever they look
// like, are read by an adopting sealer, written plain by one that says so, and
// refused by the ring.
func TestAdoptedMembers(t *testing.T) {
	t.Parallel()
	r := ring(t, "new", "old")
	bind := func(s keywright.Sealer) *value.Codec[person] {
		at := func(field string) keywright.Place { return keywright.Place{Schema: "shop", Key: "k", Field: field} }
		return object.Bind("", func(f, text string) (string, error) { return s.Seal(at(f), text) },
			func(f, text string) (string, error) { return s.Open(at(f), text) })
	}
	for _, phone := range []string{"abcd", "+81", "", "c2VjcmV0", `quo"ted`, "日本"} {
		age := int64(42)
		p := person{Name: "Ann", Phone: phone, Age: &age}
		plain, err := bind(seal.Adopting{Ring: r, Plain: true}).Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		var old person
		err = value.UnmarshalObject(plainMembers, []byte(plain), &old)
		if err != nil || old.Phone != phone {
			t.Errorf("a process that knows no encryption reads %+v of %s: %v", old, plain, err)
		}
		sealed, err := bind(seal.Adopting{Ring: r}).Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, stored := range []string{plain, sealed} {
			got, err := bind(seal.Adopting{Ring: r}).Parse(stored)
			if err != nil || got.Phone != phone || *got.Age != 42 {
				t.Errorf("%s is read as %+v: %v", stored, got, err)
			}
		}
		if _, err := bind(r).Parse(plain); !errors.Is(err, seal.ErrNotSealed) {
			t.Errorf("the ring takes %s: %v", plain, err)
		}
		if got, err := bind(r).Parse(sealed); err != nil || got.Phone != phone {
			t.Errorf("%+v %v", got, err)
		}
	}
}

var plainMembers = []value.ObjectColumn[person]{
	value.Member("name", value.Quoted, text, func(p *person) *string { return &p.Name }),
	value.Member("phone", value.Quoted, text, func(p *person) *string { return &p.Phone }),
	value.OptionalMember("age", value.Bare, number, func(p *person) **int64 { return &p.Age }),
}
