package entity

import (
	_ "embed"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lease"
)

//go:embed apart_entry.lua
var apartEntryText string

//go:embed apart_open.lua
var apartOpenText string

//go:embed apart_close.lua
var apartCloseText string

//go:embed apart_due.lua
var apartDueText string

//go:embed apart_item.lua
var apartItemText string

//go:embed apart_index.lua
var apartIndexText string

//go:embed apart_look.lua
var apartLookText string

//go:embed apart_touch.lua
var apartTouchText string

// apartScripts are those for entities in several slots.
type apartScripts struct {
	open, close, due, item, index, look, touch *keywright.Script
}

func newApartScripts(edit func(string) string) apartScripts {
	return apartScripts{
		open:  keywright.NewScript("entity open", edit(apartOpenText)),
		close: keywright.NewScript("entity close", edit(apartCloseText)),
		due:   keywright.NewScript("entity take over", edit(apartDueText)),
		item:  keywright.NewScript("entity item", edit(apartItemText)),
		index: keywright.NewScript("entity index", edit(apartIndexText)),
		look:  keywright.NewReadOnlyScript("entity look", edit(apartLookText)),
		touch: keywright.NewScript("entity touch apart", edit(apartTouchText)),
	}
}

// include puts in what several scripts share. How an item announces itself is
// in `write`.
func include(text string) string {
	text = lease.Include(text)
	_, emit, _ := strings.Cut(writeText, "-- texts gives pieces")
	emit, _, _ = strings.Cut(emit, "local function write(")
	text = strings.Replace(text, "--include emit\n", "-- texts gives pieces"+emit, 1)
	text = strings.Replace(text, "--include apart_entry.lua", apartEntryText, 1)
	text = strings.Replace(text, "--include versions.lua", versionsText, 1)
	text = strings.Replace(text, "--include same.lua", sameText, 1)
	text = strings.Replace(text, "--include marks.lua", marksText, 1)
	return strings.Replace(text, "--include send.lua", sendText, 1)
}
