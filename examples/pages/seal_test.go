package pages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/pages/appkeys"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value/seal"
)

// A field that the server sees sealed.
func Example_seal() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "pages")
	check(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ring.json")
	text, _, err := seal.Generate()
	check(err, seal.Store(path, text))
	//doc:begin seal
	ring, err := seal.Open(ctx, seal.File(path)) // as /run/secrets/ring.json
	check(err)
	client, err := keywright.Open(ctx, url, keywright.Options{Sealer: ring})
	check(err)
	app := appkeys.New(client)
	err = app.Settings(7).Phone().Set("+81 90 1234 5678").Do(ctx) // sealed; one round trip as ever
	//doc:end
	check(err)
	defer client.Close()
	phone, err := app.Settings(7).Phone().Get().Do(ctx)
	raw := client.Raw()
	stored, err2 := raw.Do(ctx, raw.B().Hget().Key("user:7:settings").Field("phone").Build()).ToString()
	check(err2)
	fmt.Println(phone, err, seal.IsPlain(stored))
	// Output: +81 90 1234 5678 <nil> false
}
