package apply

import (
	"embed"
	"strconv"

	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
)

//go:embed *.lua
var files embed.FS

// scripts lists the scripts of this package and their parts.
var scripts = lua.New(files)

// eval returns the command that runs a script of this package.
func eval(b kernel.Builder, name string, keys []string, args ...string) kernel.Command {
	text := scripts.Script(name)
	if err := lua.TakenBy(text).Refuse(len(keys), len(args)); err != nil {
		text = "return redis.error_reply(" + strconv.Quote("ERR "+err.Error()) + ")"
	}
	return b.Eval().Script(text).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
}
