package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/bench/report"
)

// program returns one that notes what it does.
func program(notes *[]string) *Program {
	note := func(text string) { *notes = append(*notes, text) }
	p := &Program{Name: "p", Rounds: 3, RoundsOf: " of it", Slice: time.Second, Servers: "a,b", Keys: 10}
	p.Title = func() string { return fmt.Sprint(p.Rounds, p.Slice, p.Keys, p.Seed) }
	p.Open = func(_ context.Context, server string) error {
		if server == "broken" {
			return io.EOF
		}
		note("open " + server)
		p.Cleanup(func() { note("second") })
		p.Cleanup(func() { note("first") })
		return nil
	}
	for _, name := range []string{"x", "y"} {
		p.Parts = append(p.Parts, report.Part{Name: name, Run: func(_ context.Context, out *report.Report) error {
			note(name)
			out.Table(name)
			return nil
		}})
	}
	p.Child = Instead{Flag: "child", Usage: "c", Run: func(_ context.Context, value string, w io.Writer) error {
		return errors.Join(fmt.Errorf("child %s", value), p.Open(context.Background(), "of the child"))
	}}
	p.Profile = Instead{Flag: "profile", Usage: "p", Run: func(_ context.Context, file string, w io.Writer) error {
		return Profiled(file, func() error {
			_, err := io.WriteString(w, "profiled")
			return err
		})
	}}
	return p
}

// Parts run on each server, and each server is cleaned up after them; what was measured before an error is printed.
func TestRun(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "profile")
	for _, c := range []struct{ args, done, prints, fails string }{
		{"", "open a,x,y,first,second,open b,x,y,first,second", "3 1s 10 1 x y x y Goals", ""},
		{"-only y -rounds 5 -slice 2s -keys 7 -seed 9 -servers c", "open c,y,first,second", "5 2s 7 9 y Goals", ""},
		{"-only z", "", "", `-only "z": there is x, y`},
		{"-servers a,broken,b", "open a,x,y,first,second", "3 1s 10 1 x y Goals", "broken: EOF"},
		{"-child 1", "open of the child,first,second", "", "child 1"},
		{"-profile " + profile, "", "profiled", ""},
		{"-server a", "", "", "not defined: -server"},
	} {
		var notes []string
		var out strings.Builder
		p := program(&notes)
		p.Flags.SetOutput(io.Discard)
		err := p.Run(t.Context(), strings.Fields(c.args), &out)
		prints := strings.Join(strings.Fields(out.String()), " ")
		if done := strings.Join(notes, ","); done != c.done || prints != c.prints || (err == nil) != (c.fails == "") ||
			err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%q: %s, %q, %v", c.args, done, prints, err)
		}
	}
	if info, err := os.Stat(profile); err != nil || info.Size() == 0 {
		t.Errorf("the profile: %v", err)
	}
}

// A server, its clients and its dataset are there until the parts have run.
func TestLoad(t *testing.T) {
	p := &Program{Keys: 100, Seed: 1}
	server, truth, err := p.Load(t.Context(), Redis)
	if err != nil || truth.Keys != 100 {
		t.Fatal(truth, err)
	}
	other, c, err := p.Connect(t.Context(), Redis, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.GoRedis.Ping(t.Context()).Err(), c.Client.Raw().Do(t.Context(),
		c.Raw.B().Ping().Build()).Error(), c.Raw.Do(t.Context(), c.Raw.B().Ping().Build()).Error()); err != nil {
		t.Error(err)
	}
	p.CleanUp()
	if server.Do("PING") == nil || other.Do("PING") == nil {
		t.Error("a server answers after all")
	}
}
