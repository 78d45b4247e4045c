package store

import (
	"embed"

	"github.com/keywright/keywright/internal/lua"
)

//go:embed *.lua
var embedded embed.FS

// parts lists the scripts of this package and what they share.
var parts = lua.New(embedded)
