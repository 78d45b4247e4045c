// Package scripts holds the Lua of an entity: each script is a file with a header, see internal/lua. It knows their
// names, and not what calls them.
package scripts

import (
	"embed"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
)

// Scripts describes what the stores of a client do on the server.
type Scripts struct {
	Write, Touch                           *kernel.Shared
	List, Count, Due, Clear, Sweep, Repair *keywright.Script
	Mark, Unindex                          *keywright.Script
	Book, Marks, Clock                     *keywright.Script

	CrossSlot CrossSlot
}

// New returns the scripts of a client.
func New(c *keywright.Client) *Scripts {
	return &Scripts{
		Write:     kernel.NewShared(c, "entity write", Parts.Script("write")),
		Touch:     kernel.NewShared(c, "entity touch", Parts.Script("touch")),
		List:      keywright.NewReadOnlyScript("entity list", Parts.Later("list")),
		Count:     keywright.NewReadOnlyScript("entity count", Parts.Later("count")),
		Due:       keywright.NewScript("entity due", Parts.Later("due")),
		Clear:     keywright.NewScript("entity clear", Parts.Later("clear")),
		Sweep:     keywright.NewScript("entity sweep", Parts.Later("sweep")),
		Repair:    keywright.NewScript("entity repair", Parts.Later("repair")),
		Mark:      keywright.NewScript("entity mark", Parts.Later("mark")),
		Unindex:   keywright.NewScript("entity unindex", Parts.Later("unindex")),
		Book:      keywright.NewReadOnlyScript("entity book", Parts.Later("book")),
		Marks:     keywright.NewReadOnlyScript("entity said", Parts.Later("said")),
		Clock:     keywright.NewReadOnlyScript("entity clock", Parts.Later("now")),
		CrossSlot: NewCrossSlot(Parts),
	}
}

// Close is for keywright.Part; there is nothing to close.
func (*Scripts) Close() {}

// CrossSlot holds those for entities in several slots.
type CrossSlot struct {
	Open, Close, Due, Item, Index, Look, Touch *keywright.Script
}

// NewCrossSlot returns those for entities in several slots.
func NewCrossSlot(parts *lua.Set) CrossSlot {
	return CrossSlot{
		Open:  keywright.NewScript("entity open", parts.Later("apart_open")),
		Close: keywright.NewScript("entity close", parts.Later("apart_close")),
		Due:   keywright.NewScript("entity take over", parts.Later("apart_due")),
		Item:  keywright.NewScript("entity item", parts.Later("apart_item")),
		Index: keywright.NewScript("entity index", parts.Later("apart_index")),
		Look:  keywright.NewReadOnlyScript("entity look", parts.Later("apart_look")),
		Touch: keywright.NewScript("entity touch apart", parts.Later("apart_touch")),
	}
}

//go:embed *.lua
var files embed.FS

// Parts lists the scripts of this package and what they share.
var Parts = lua.New(files)
