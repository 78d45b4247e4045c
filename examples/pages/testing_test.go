package pages

import (
	"os"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/examples/pages/appkeys"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

//doc:begin testing

func TestPage(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	ks, _ := load.File(os.DirFS("."), "keyspace.yaml")
	g, err := guard.New(ks, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := keywright.Open(t.Context(), "redis://"+s.Addr(), keywright.Options{Wrap: g.Wrap})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	app := appkeys.New(client) // the program under test works with this client
	if err := app.ProductDetail(42).Set(t.Context(), page); err != nil {
		t.Error(err)
	}

	a, err := audit.New(ks, audit.Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	config, err := connect.Parse("redis://" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	report, err := a.Run(t.Context(), server.New(config, server.Options{}), source.Request{Values: a.WantsValue})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Errorf("%s: %s", f.Code, f.Message)
	}
}

//doc:end
