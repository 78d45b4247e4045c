package jsonbound_test

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/jsonbound"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		text            string
		objects, values int
		ok              bool
	}{
		{"", 0, 0, true}, {`{}`, 0, 0, false}, {`{}`, 1, 0, true}, {`[{},{}]`, 3, 1, true}, {`[{},{}]`, 2, 1, false},
		{`[1,2,3]`, 1, 1, false},
		{`["{[,\"{[,\\"]`, 1, 0, true}, {`["\\",1]`, 1, 0, false}, {`"` + strings.Repeat("{", 100), 0, 0, true},
		{strings.Repeat("[", 100), 99, 0, false}, {`"\`, 0, 0, true},
	} {
		if err := jsonbound.Check([]byte(c.text), c.objects, c.values); (err == nil) != c.ok {
			t.Errorf("%s, %d, %d: %v", c.text, c.objects, c.values, err)
		}
	}
}
