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
		list:    keywright.NewReadOnlyScript("entity list", parts.Later("list")),
		count:   keywright.NewReadOnlyScript("entity count", parts.Later("count")),
		due:     keywright.NewScript("entity due", parts.Later("due")),
		clear:   keywright.NewScript("entity clear", parts.Later("clear")),
		sweep:   keywright.NewScript("entity sweep", parts.Later("sweep")),
		repair:  keywright.NewScript("entity repair", parts.Later("repair")),
		mark:    keywright.NewScript("entity mark", parts.Later("mark")),
		unindex: keywright.NewScript("entity unindex", parts.Later("unindex")),
		book:    keywright.NewReadOnlyScript("entity book", parts.Later("book")),
		said:    keywright.NewReadOnlyScript("entity said", parts.Later("said")),
		clock:   keywright.NewReadOnlyScript("entity clock", parts.Later("now")),
		apart:   newApartScripts(parts),
	}
}

// Close is for keywright.Part; there is nothing to close.
func (*scripts) Close() {}
