package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/cmd/keywright/internal/access"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/live"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
)

// servedVerbs lists the verbs whose plans serve makes, and what each may be asked to select.
// Those that write files or need another server are for the command line alone.
var servedVerbs = map[string][]string{
	"clean": {"entry", "owner", "match", "where"}, "ttl": {"entry", "owner", "match", "where"},
	"queues retry": {"entry", "instance", "error", "text", "id"}, "queues discard": {"entry", "instance", "error",
		"text", "id"},
	"queues cancel": {"entry", "instance", "text", "id"}, "queues run": {"entry", "instance", "id"},
	"queues repair": {"entry"}, "queues pause": {"entry"},
	"queues resume":   {"entry"},
	"entities repair": {"entry"}, "entities index": {"entry"}, "locks break": {"key"}, "seal rotate": {"entry"},
	"seal adopt": {"entry"},
}

// needsOne lists the verbs that are about one entry, which must be named.
var needsOne = map[string]bool{"queues retry": true, "queues discard": true, "queues cancel": true, "queues run": true,
	"queues pause": true, "queues resume": true}

// planner makes and executes the plans of serve.
type planner struct {
	app  *cli.App
	ring sources.Ringing
	rate int
	db   int // of --db; -1: the one the URL names, all if it names none
}

// actingPatience says how long a plan waits for the right to change keys: a process that was
// killed has it for some seconds more.
const actingPatience = 20 * time.Second

// quiet returns a command line of its own, which prints nothing.
func (p *planner) quiet() *cli.App {
	a := *p.app
	a.Out, a.Err, a.Quiet = terminal.NewScreen(io.Discard, a.Getenv), terminal.NewScreen(io.Discard, a.Getenv), true
	a.Variables, a.Keyspace = slices.Clone(a.Variables), nil
	a.Patience, a.Args = actingPatience, nil // what serve was given says nothing about other verbs
	return &a
}

// Flags returns those that a verb would be given.
func (p *planner) Flags(q *plan.Request) *change.Changing {
	o := &change.Changing{Output: "json", Ring: p.ring}
	o.Pacing = change.Pacing{Progress: "none", Rate: p.rate, MaxLatency: change.UsualLatency}
	o.AsIn(q)
	return o
}

// Request implements operate.Planner.
func (p *planner) Request(ask operate.Ask) (q plan.Request, title string, err error) {
	selects, known := servedVerbs[ask.Verb]
	if !known {
		return q, "", &operate.Refusal{Code: "no-such-verb", Message: fmt.Sprintf("no plan is made here of %q",
			finding.Printable(ask.Verb)),
			Hint: "plans are made of " + strings.Join(slices.Sorted(maps.Keys(servedVerbs)), ", ")}
	}
	for _, name := range slices.Sorted(maps.Keys(ask.Select)) {
		if ask.Select[name] != "" && !slices.Contains(selects, name) {
			return q, "", &operate.Refusal{Code: "bad-select", Message: fmt.Sprintf("%s does not select by %q",
				ask.Verb, finding.Printable(name)),
				Hint: "it selects by " + strings.Join(selects, ", ")}
		}
	}
	if err := knownOptions(&ask); err != nil {
		return q, "", err
	}
	for _, need := range selects[:1] {
		if (needsOne[ask.Verb] || need == "key") && ask.Select[need] == "" {
			return q, "", &operate.Refusal{Code: "bad-select", Message: fmt.Sprintf("%s takes one %s", ask.Verb,
				need), Hint: "add it to select"}
		}
	}
	if ask.Verb == "queues run" && ask.Select["id"] == "" {
		return q, "", &operate.Refusal{Code: "bad-select", Message: "queues run takes one id", Hint: "add it to select"}
	}
	return p.requestOf(&ask), titleOf(&ask), nil
}

// knownOptions refuses options that a verb does not have.
func knownOptions(ask *operate.Ask) error {
	for name, text := range ask.Options {
		if ask.Verb != "ttl" || name != "spread" {
			return &operate.Refusal{Code: "bad-option", Message: fmt.Sprintf("%s has no option %q", ask.Verb,
				finding.Printable(name)), Hint: "leave it out"}
		}
		var n int
		if _, err := fmt.Sscanf(text, "%d", &n); err != nil || n < 0 || n > 100 || fmt.Sprint(n) != text {
			return &operate.Refusal{Code: "bad-option", Message: "spread is a percentage from 0 to 100",
				Hint: "write 50"}
		}
	}
	return nil
}

// requestOf returns an ask as the request of a plan, as the flags of the command would make it.
func (p *planner) requestOf(ask *operate.Ask) plan.Request {
	one := func(name string) []string {
		if ask.Select[name] == "" {
			return nil
		}
		return []string{ask.Select[name]}
	}
	q := plan.Request{Entries: one("entry"), Owners: one("owner"), Globs: one("match"), Where: one("where")}
	switch ask.Verb {
	case "ttl":
		q.DB, q.Options = p.db, map[string]string{"spread": cmp.Or(ask.Options["spread"], usualSpread)}
	case "clean":
		q.DB = p.db
	case "locks break":
		q.Options = map[string]string{"keys": change.Packed(one("key"))}
	case "queues retry", "queues discard", "queues cancel", "queues run":
		q.Options = map[string]string{"jobs": change.Packed(one("id"))}
		for option, name := range map[string]string{live.OptionError: "error", live.OptionText: "text",
			live.OptionOf: "instance"} {
			if text := ask.Select[name]; text != "" && (name != "instance" || text != noInstance) {
				q.Options[option] = text
			}
		}
		if dead := ask.Verb == "queues retry" || ask.Verb == "queues discard"; dead && ask.Select["id"] == "" {
			q.Options[live.OptionMatching] = "true"
		}
	}
	return q
}

// noInstance says what paths have for the only queue of an entry.
const noInstance = "-"

// usualSpread is the --spread of ttl.
const usualSpread = "50"

// titleOf tells a plan in a line.
func titleOf(ask *operate.Ask) string {
	words := []string{ask.Verb}
	for _, name := range servedVerbs[ask.Verb] {
		text := ask.Select[name]
		switch {
		case text == "" || text == noInstance:
		case name == "entry" || name == "instance" || name == "key":
			words = append(words, finding.Printable(text))
		default:
			words = append(words, name+" "+finding.Printable(text))
		}
	}
	if dead := ask.Verb == "queues retry" || ask.Verb == "queues discard"; dead &&
		ask.Select["error"]+ask.Select["text"]+ask.Select["id"] == "" {
		words = append(words, "(all dead jobs)")
	}
	return strings.Join(words, " ")
}

// verbServed returns a verb of servedVerbs.
func verbServed(name string) *change.Verb {
	return cmp.Or(change.KeyVerbs()[name], live.Verbs()[name], access.Verbs()[name])
}

// Plan implements operate.Planner.
func (p *planner) Plan(ctx context.Context, verb string, q plan.Request) (*plan.Plan, error) {
	a := p.quiet()
	r, err := change.Prepare(ctx, a, verbServed(verb), q, p.Flags(&q), nil)
	if err != nil {
		return nil, refusal(ctx, a, err)
	}
	defer r.Close()
	if err := r.MakePlan(ctx); err != nil {
		return nil, refusal(ctx, a, err)
	}
	return r.Made, nil
}

// Execute implements operate.Planner.
func (p *planner) Execute(ctx context.Context, path string, told func(int64)) (out operate.Outcome, err error) {
	a := p.quiet()
	made, err := change.ReadPlan(path)
	if err != nil {
		return out, refusal(ctx, a, err)
	}
	a.Namespace = made.Request.Namespace
	r, journal, err := change.TakeUp(ctx, a, verbServed(made.Verb), path, made,
		&change.Applying{Changing: *p.Flags(&made.Request), Drift: change.UsualDrift})
	if ended, ok := errors.AsType[*change.Ended](err); ok { // the program was killed before it could note that
		return operate.Outcome{Total: ended.Total, Complete: true}, nil
	}
	if err != nil {
		return out, refusal(ctx, a, err)
	}
	defer r.Close()
	defer journal.Close()
	report, err := r.Perform(ctx, made, journal, nil, told)
	done := r.Result(ctx, &report, err)
	out = operate.Outcome{Total: report.KeyCounts, Left: report.Left, Complete: done.Complete, Problem: done.Problem}
	if err != nil {
		return out, refusal(ctx, a, err)
	}
	if report.Refused > 0 {
		out.Complete, out.Problem = false, "the server did not permit "+terminal.Plural(report.Refused, "change")
	}
	return out, nil
}

// refusal returns an error in words that may be shown.
func refusal(ctx context.Context, a *cli.App, err error) error {
	if errors.Is(err, writelease.ErrHeld) {
		return &operate.Refusal{Code: "acting", Message: err.Error(),
			Hint: "apply it again when that one has ended: what was done is not done twice"}
	}
	message, hint, why := cli.Verdict(ctx, err)
	code := "refused"
	if why == cli.ExitInterrupted {
		code = operate.Interrupted
	}
	return &operate.Refusal{Code: code, Message: a.HideSecrets(message), Hint: a.HideSecrets(hint)}
}

// sinks say where the lines of logs go beside their files.
var sinks = []string{"none", "stdout", "stderr"}

// openDesk opens the folder of --plans; nil: no plan may be applied, and no value is shown.
func openDesk(a *cli.App, o *Serving, h *serveDeps) (*operate.PlanQueue, error) {
	if !o.allow && !o.janitor && !o.show {
		return nil, nil
	}
	d, err := operate.Open(o.plans, operate.Options{Now: a.Now, Changed: h.runChanged, Sink: sink(a, o.sink)})
	switch {
	case errors.Is(err, journal.ErrInUse):
		return nil, cli.Usage("stop it, or name another folder with --plans", "%v: is another keywright serve running?",
			err)
	case err != nil:
		return nil, cli.Usage("name another folder with --plans", "the folder for plans cannot be used: %v", err)
	}
	for _, skipped := range d.Skipped {
		a.Say("warning: a plan of %s is not shown: %s", o.plans, skipped)
	}
	return d, nil
}

// escaped writes lines of JSON that command no terminal.
type escaped struct{ to io.Writer }

func (e escaped) Write(line []byte) (int, error) {
	_, err := e.to.Write(finding.EscapeJSON(line))
	return len(line), err
}

// sink returns the logger that gets the lines of the logs; nil: none.
func sink(a *cli.App, name string) *slog.Logger {
	to := map[string]io.Writer{"stdout": a.Out, "stderr": a.Err}[name]
	if to == nil {
		return nil
	}
	return slog.New(slog.NewJSONHandler(escaped{to}, nil))
}
