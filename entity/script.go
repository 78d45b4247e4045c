package entity

import (
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// scripts describes what the stores of a client do on the server.
type scripts struct {
	write, touch                           *kernel.Shared
	list, count, due, clear, sweep, repair *keywright.Script
	mark, unindex                          *keywright.Script
	book, said, clock                      *keywright.Script

	apart apartScripts
}

func newScripts(c *keywright.Client) *scripts {
	return &scripts{
		write:   kernel.NewShared(c, "entity write", parts.Script("write")),
		touch:   kernel.NewShared(c, "entity touch", parts.Script("touch")),
		list:    keywright.NewReadOnlyScript("entity list", parts.Script("list")),
		count:   keywright.NewReadOnlyScript("entity count", parts.Script("count")),
		due:     keywright.NewScript("entity due", parts.Script("due")),
		clear:   keywright.NewScript("entity clear", parts.Script("clear")),
		sweep:   keywright.NewScript("entity sweep", parts.Script("sweep")),
		repair:  keywright.NewScript("entity repair", parts.Script("repair")),
		mark:    keywright.NewScript("entity mark", parts.Script("mark")),
		unindex: keywright.NewScript("entity unindex", parts.Script("unindex")),
		book:    keywright.NewReadOnlyScript("entity book", parts.Script("book")),
		said:    keywright.NewReadOnlyScript("entity said", parts.Script("said")),
		clock:   keywright.NewReadOnlyScript("entity clock", parts.Script("now")),
		apart:   newApartScripts(parts),
	}
}

// Close is for keywright.Part; there is nothing to close.
func (*scripts) Close() {}
