package contest

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/bench/report"
)

func command(script string) func(context.Context) *exec.Cmd { return Program("sh", "-c", script) }

func TestRun(t *testing.T) {
	meter := time.Duration(0)
	quick := &Contestant{Name: "quick", Command: command("echo hello"), Verify: func(p []byte) error {
		if string(p) != "hello\n" {
			return errors.New("it says something else")
		}
		return nil
	}}
	slow := &Contestant{Name: "slow", Exit: 3, Discard: true,
		Command: command("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3")}
	c := &Contest{All: []*Contestant{quick, slow},
		Meter: func() (time.Duration, error) { meter += time.Second; return meter, nil }}
	if err := c.Run(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if len(quick.Samples) != 3 || len(slow.Samples) != 3 || quick.Samples[0].Server != time.Second ||
		Ratio(slow, quick, Wall) <= 1 || Peak.Value(quick.Samples) <= 0 {
		t.Errorf("%+v %+v", quick.Samples, slow.Samples)
	}
	var out report.Report
	c.Show(&out, "both", 1000)
	if table := out.Tables[0]; len(table.Rows) != 2 || len(table.Rows[0]) != 7 || len(table.Columns) != 7 {
		t.Errorf("%+v", table)
	}
}

// A contestant that fails, or answers wrongly, fails the contest.
func TestWrongAnswers(t *testing.T) {
	for _, who := range []*Contestant{
		{Name: "fails", Command: command("echo broken >&2; exit 1")},
		{Name: "lies", Command: command("echo no"), Verify: func([]byte) error { return errors.New("wrong") }},
	} {
		err := (&Contest{All: []*Contestant{who}}).Run(t.Context(), 1)
		if err == nil || !strings.Contains(err.Error(), who.Name) {
			t.Errorf("%s: %v", who.Name, err)
		}
	}
}
