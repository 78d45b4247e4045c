package entity

import (
	_ "embed"

	"github.com/keywright/keywright"
)

//go:embed write.lua
var writeText string

//go:embed send.lua
var sendText string

//go:embed marks.lua
var marksText string

//go:embed versions.lua
var versionsText string

//go:embed same.lua
var sameText string

//go:embed mark.lua
var markText string

//go:embed unindex.lua
var unindexText string

//go:embed touch.lua
var touchText string

//go:embed list.lua
var listText string

//go:embed count.lua
var countText string

//go:embed due.lua
var dueText string

//go:embed clear.lua
var clearText string

//go:embed sweep.lua
var sweepText string

//go:embed repair.lua
var repairText string

// scripts are what the stores of a client do on the server. edit is a variable
// so that a test can take a guard out and see that it is missed.
type scripts struct {
	write, touch                           *keywright.Shared
	list, count, due, clear, sweep, repair *keywright.Script
	mark, unindex                          *keywright.Script

	apart apartScripts
}

var edit = func(text string) string { return text }

func newScripts(c *keywright.Client) *scripts {
	edit := func(text string) string { return edit(include(text)) }
	return &scripts{
		write:   keywright.NewShared(c, "entity write", edit(writeText)),
		touch:   keywright.NewShared(c, "entity touch", edit(touchText)),
		list:    keywright.NewReadOnlyScript("entity list", edit(listText)),
		count:   keywright.NewReadOnlyScript("entity count", edit(countText)),
		due:     keywright.NewScript("entity due", edit(dueText)),
		clear:   keywright.NewScript("entity clear", edit(clearText)),
		sweep:   keywright.NewScript("entity sweep", edit(sweepText)),
		repair:  keywright.NewScript("entity repair", edit(repairText)),
		mark:    keywright.NewScript("entity mark", edit(markText)),
		unindex: keywright.NewScript("entity unindex", edit(unindexText)),
		apart:   newApartScripts(edit),
	}
}

// Close is for keywright.Part; there is nothing to close.
func (*scripts) Close() {}
