package serving

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/pflag"
)

// alerting holds the flags of serve about alerts.
type alerting struct {
	webhooks string
	silences string
	alerts   string
}

func (o *alerting) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.webhooks, "webhooks", "", "a file with where to send alerts: lines of slack or json, and an address")
	f.StringVar(&o.silences, "silences", "",
		"a file with alerts that are not sent: lines of a glob for their ids, and an end; it is read again when it changes")
	f.StringVar(&o.alerts, "alerts", "keywright-alerts.json", "with --webhooks: the file that keeps what was sent")
}

// alerter holds the tracker of alerts, and what sends them.
type alerter struct {
	*cli.App
	book  *alert.Tracker
	hooks []alert.Webhook
	path  string   // of the silences
	lock  *os.File // nil: the tracker has no file
}

// newAlerter opens the tracker of alerts, which has a file where --webhooks tells of them.
func newAlerter(a *cli.App, o *Serving) (*alerter, error) {
	if o.webhooks == "" {
		if o.silences != "" {
			return nil, cli.Usage("add --webhooks FILE", "--silences says nothing without --webhooks")
		}
		return &alerter{App: a, book: alert.New(a.Now)}, nil
	}
	if o.IsFile() {
		return nil, cli.Usage("leave it out", "--webhooks says nothing about a file")
	}
	hooks, err := alert.ReadWebhooks(o.webhooks)
	if err != nil {
		return nil, cli.Usage("a line is as in: slack https://hooks.slack.com/services/…", "--webhooks: %v", err)
	}
	l := &alerter{App: a, hooks: hooks, path: o.silences}
	if err := (&watcher{alerter: l}).read(); err != nil {
		return nil, cli.Usage("a line is as in: default/queue/* 2026-12-01T00:00:00Z planned maintenance",
			"--silences: %v", err)
	}
	if err := cli.Writable(o.alerts); err != nil {
		return nil, cli.Usage("name a file in a folder that can be written to", "--alerts: %v", err)
	}
	if l.lock, err = lockBeside(o.alerts); err != nil {
		return nil, err
	}
	l.book, err = alert.Open(o.alerts, a.Now,
		func(path string, text []byte) error { return cli.ReplaceTextAs(path, text, 0o600) })
	if err != nil {
		l.lock.Close()
		return nil, cli.Usage("name another file", "--alerts: %v", err)
	}
	return l, nil
}

// Close lets another program have the file.
func (l *alerter) Close() {
	if l.lock != nil {
		l.lock.Close()
	}
}

// send posts messages until ctx ends.
func (l *alerter) send(ctx context.Context) {
	(&alert.Sender{Book: l.book, Hooks: l.hooks, Tell: l.Say, Pause: cli.Pause}).Run(ctx)
}

// watch looks at a target when it changes, until ctx ends.
func (l *alerter) watch(ctx context.Context, t *observe.Target) {
	(&watcher{alerter: l, target: t}).run(ctx)
}

// Leave forgets a target that is not watched any more.
func (l *alerter) Leave(target string) {
	if err := l.book.Leave(target); err != nil {
		l.Say("the file of alerts cannot be written: %v", err)
	}
}

// lockBeside keeps other programs away from a file that is replaced, by one beside it.
func lockBeside(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, cli.Usage("name a file in a folder that can be written to", "--alerts: %v", err)
	}
	if err := filelock.Lock(f); err != nil {
		f.Close()
		return nil, cli.Usage("name another file for each keywright serve", "--alerts: %s: %v", path, err)
	}
	return f, nil
}

// watcher looks at a target when it changes.
type watcher struct {
	*alerter
	target   *observe.Target
	silences []alert.Silence
	said     string // what could not be done the last time
	wrong    string // with the target
}

func (w *watcher) run(ctx context.Context) {
	changes, stop := w.target.Subscribe()
	defer stop()
	tick := time.NewTicker(glanceEvery) // what is not read any more changes nothing
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case c := <-changes:
			if c.What == observe.Progressed || c.What == observe.Judged {
				continue
			}
		}
		w.Tell(w.read()) // the silences of before hold where these cannot be read
		w.Tell(w.book.Look(w.target, w.silent))
		if now := w.judged(); now != w.wrong {
			w.wrong = now
			w.target.Judge()
		}
	}
}

// broken notes that a target cannot be watched.
func (w *watcher) broken(target, why string) {
	w.Tell(w.read())
	w.Tell(w.book.Broken(target, why, w.silent))
}

func (w *watcher) silent(id string) bool { return alert.Silent(w.silences, id, w.Now()) }

// judged says what is wrong, and how much.
func (w *watcher) judged() string {
	var b strings.Builder
	alerts, left := w.book.Now(w.target.ID)
	for _, a := range alerts {
		fmt.Fprintln(&b, a.ID, a.Text, a.Silent)
	}
	return fmt.Sprint(b.String(), left)
}

func (w *watcher) read() error {
	if w.path == "" {
		return nil
	}
	all, err := alert.ReadSilences(w.path)
	if err == nil {
		w.silences = all
	}
	return err
}

// Tell says what is wrong, once.
func (w *watcher) Tell(err error) {
	if err == nil || err.Error() == w.said {
		return
	}
	w.said = err.Error()
	w.Say("alerts: %s", finding.Printable(w.said))
}
