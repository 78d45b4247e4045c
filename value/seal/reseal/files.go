package reseal

import (
	"embed"

	"github.com/keywright/keywright/internal/lua"
)

//go:embed *.lua
var files embed.FS

// parts lists the scripts of this package and what they share.
var parts = lua.New(files)
