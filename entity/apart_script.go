package entity

import (
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lua"
)

// apartScripts holds those for entities in several slots.
type apartScripts struct {
	open, close, due, item, index, look, touch *keywright.Script
}

func newApartScripts(parts *lua.Set) apartScripts {
	return apartScripts{
		open:  keywright.NewScript("entity open", parts.Later("apart_open")),
		close: keywright.NewScript("entity close", parts.Later("apart_close")),
		due:   keywright.NewScript("entity take over", parts.Later("apart_due")),
		item:  keywright.NewScript("entity item", parts.Later("apart_item")),
		index: keywright.NewScript("entity index", parts.Later("apart_index")),
		look:  keywright.NewReadOnlyScript("entity look", parts.Later("apart_look")),
		touch: keywright.NewScript("entity touch apart", parts.Later("apart_touch")),
	}
}
