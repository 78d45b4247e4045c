package look

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// mutations lists the guards of a look at a value.
var mutations = []mutation.Row{
	{Name: "a closed value is read", Guard: "case q.Closed != nil && q.Closed(l.Type):",
		Instead: "case false:", Test: "TestLookHides"},
	{Name: "what is hidden is kept", Guard: "if r.hides == nil || !item.Name.Cut() && !r.hides(item.Name.Bytes) {",
		Instead: "if r.hides == nil || true {", Test: "TestLookHides"},
	{Name: "a name that was cut hides nothing",
		Guard:   "if r.hides == nil || !item.Name.Cut() && !r.hides(item.Name.Bytes) {",
		Instead: "if r.hides == nil || !r.hides(item.Name.Bytes) {", Test: "TestLookHides"},
	{Name: "all elements are kept", Guard: "for i := 0; i < got && r.left > 0; i++ {",
		Instead: "for i := 0; i < got; i++ {", Test: "TestLookAtLargeElements"},
	{Name: "texts are kept whole", Guard: "keep := min(len(b), max(r.left, 0))",
		Instead: "keep := len(b)", Test: "TestLookAtLargeElements"},
	{Name: "all fields of an entry are kept", Guard: "i+1 < n && err == nil && r.left > 0; i += 2",
		Instead: "i+1 < n && err == nil; i += 2", Test: "TestLookAtLargeElements"},
	{Name: "an element that is too long is an error", Guard: "l.TooLong, err = true, nil",
		Instead: "l.TooLong = true", Test: "TestLookAtLargeElements"},
	{Name: "more elements are asked for", Guard: "n := int64(MaxElements)",
		Instead: "n := 2 * int64(MaxElements)", Test: "TestLookIsBounded"},
	{Name: "a list has one element more", Guard: "n-- // the last place, and not a number",
		Instead: "", Test: "TestLookIsBounded"},
	{Name: "a look touches a key and does not say so",
		Guard: `_, err = connect.Ask(sh.Conn.Conn, "CLIENT", "NO-TOUCH", "on")`, Instead: "", Test: "TestLookTouchesNothing"},
}

func TestMutations(t *testing.T) { mutation.Run(t, mutations) }
