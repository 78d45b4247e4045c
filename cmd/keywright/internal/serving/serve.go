// Package serving has the verbs that run for long, or do the same: serve, the janitor, and status. It puts the queue of
// plans of plans, the readings and the alerts of package serve together with the verbs that do the work.
package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/declare"
	"github.com/keywright/keywright/cmd/keywright/internal/history/daemon"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/dash"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

// Serving holds the flags of serve.
type Serving struct {
	sources.Sourcing
	alerting
	listen string
	store  string
	every  time.Duration
	by     string
	Tokens string
	cert   string
	key    string
	plain  bool
	hosts  []string

	allow bool   // plans may be applied
	show  bool   // operators may look at values
	plans string // the folder that keeps them
	sink  string // where the lines of the logs go, too
	pace  int    // keys per second at most that they change
	ring  sources.Ringing

	janitor bool // the jobs of the declaration are done
	tidying
	targets string // the file with several targets
	atOnce  int    // audits
	rest    int    // commands a second of readings, while they are not looked at

	userHeader string // of a proxy
	proxies    []string
	operators  []string
}

// auditKinds say how serve may audit.
var auditKinds = []string{"scan", "snapshot", "sample"}

func ServeCommand(a *cli.App) *cobra.Command {
	var o Serving
	c := &cobra.Command{
		Use:   "serve [snapshot file]",
		Short: "Show a keyspace in the browser: what it holds, what grows, what is wrong",
		Long: `Watches a server and shows its keyspace under http://127.0.0.1:7380: entries with keys,
bytes and violations, what has changed since yesterday, any key explained, undeclared
keys with a declaration to copy, queues, locks, entities, streams, rankings, and the
server itself. It audits at an interval, reads the constructs every few seconds, and
keeps figures for 400 days in a file (--store). Where keywrightd is installed, they are in
SQLite or in a PostgreSQL that several instances share (--store postgres://…).

It changes nothing on the server, unless --allow-apply lets operators make plans, look
at them, apply and stop them: clean-ups, TTLs, dead jobs by error, entities, seals. The
plans, their journals and a log of who did what are in the folder of --plans.

It shows no value of a key, unless --show-values lets operators look at them, one key at a
time; each look is noted in the folder of --plans. What is encrypted is never shown.

With the name of a snapshot file or an archive it shows that file, without a server.

All it shows can be had as JSON under /api/v1 (described by /api/v1/openapi.json), and
as metrics under /metrics. /healthz says that it runs, /readyz that it has something to
show.

With --janitor it does the jobs of the declaration when they are due: audits, sweeps,
clean-ups, expiries, backups. One program does them on a server, and each is in the log.

With --targets FILE it watches several servers, each with its declaration. A server that
is away, or a declaration that does not load, harms no other one.

With --webhooks FILE it posts, to Slack or as JSON, what begins to be wrong and when it
has ended: new and grown violations, queues that are late, a server that is away.

It listens on this machine only, without users, unless --tokens names users and HTTPS
(or a proxy that has it) hides what they send. A proxy that knows its users names them
in a header (--proxy-user-header), which is read from its addresses only.

Exit codes: 0 stopped, 2 usage or a bad file, 130 interrupted.`,
		Example: `  keywright serve -u redis://localhost:6379
  keywright serve dump.rdb
  keywright serve --audit-by snapshot --audit-every 1h --listen 127.0.0.1:9000`,
		Args: sources.OneSource,
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = append(args, "")[0]
			return serveDashboard(c.Context(), a, &o)
		},
	}
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	o.Chaining.Flags(c)
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:7380", "address and port to listen at; port 0 is any free one")
	f.StringVar(&o.Tokens, "tokens", "",
		"a file with the users that may look, made by keywright serve token; needed to listen at more than this machine")
	f.StringVar(&o.cert, "https-cert", "", "PEM file with the certificate to serve HTTPS with")
	f.StringVar(&o.key, "https-key", "", "PEM file with its key")
	f.BoolVar(&o.plain, "proxy-has-tls", false,
		"a proxy before this server has the TLS: serve plain HTTP at more than this machine")
	f.StringSliceVar(&o.hosts, "host", nil,
		"host names that browsers may use for this server, beside the address it listens at")
	f.BoolVar(&o.allow, "allow-apply", false,
		"operators may change the server, by plans; without it nothing can be changed")
	f.BoolVar(&o.show, "show-values", false,
		"operators may look at values of keys, each look is noted; without it no value is shown")
	f.StringVar(&o.plans, "plans", "keywright.plans",
		"with --allow-apply, --janitor or --show-values: the folder that keeps plans, their journals and the logs of who "+
			"did what")
	f.StringVar(&o.sink, "log-to", "none",
		"where the lines of these logs go, too, as JSON: stdout, stderr or none")
	f.IntVar(&o.pace, "apply-rate", 0,
		"with --allow-apply or --janitor: keys per second at most that a plan changes (0: any)")
	f.BoolVar(&o.janitor, "janitor", false,
		"do the jobs of the declaration when they are due; without it none is done")
	o.tidying.Flags(f, "with --janitor: ")
	f.StringVar(&o.targets, "targets", "",
		"a file with several servers to watch, in the place of -u and -f; it is read again when it changes")
	f.IntVar(&o.atOnce, "audits-at-once", 4, "with --targets: how many servers are audited at once, at most")
	f.IntVar(&o.rest, "watch-rate", 20,
		"commands per second that reading queues, locks and the like may cost a server while it is not looked at")
	f.StringVar(&o.userHeader, "proxy-user-header", "",
		"the header in which a proxy names the user, as in X-Forwarded-User; needs --proxy-from")
	f.StringSliceVar(&o.proxies, "proxy-from", nil,
		"addresses of the proxy (10.0.0.7, 10.0.0.0/24): its X-Forwarded-For says which client it is; the headers of any "+
			"other are not read")
	f.StringSliceVar(&o.operators, "proxy-operators", nil, "users of the proxy that are operators; others are viewers")
	f.StringVar(&o.store, "store", "keywright.db",
		"what keeps figures over time: a file, or with keywrightd sqlite:FILE or postgres://user@host:5432/database; "+
			"none: keep none")
	f.DurationVar(&o.every, "audit-every", 15*time.Minute, "how long it is from one audit to the next")
	f.StringVar(&o.by, "audit-by", "scan",
		"how to audit: scan, snapshot (what the server sends a replica) or sample (keys from random places)")
	f.Int64Var(&o.Sample, "sample", 100_000, "look at about so many keys from random places only")
	f.IntVar(&o.Scan.Rate, "rate", 20_000,
		"with --audit-by scan: keys per second at most, over all shards (0: as fast as the server answers)")
	f.DurationVar(&o.Scan.MaxLatency, "max-latency", 20*time.Millisecond,
		"pause while the server needs longer than this to answer a PING (0: never)")
	f.StringVar(&o.Role, "read-from", "auto", "auto (a replica in step, where there is one), primary or replica")
	f.IntVar(&o.Scan.OnlyDB, "db", -1, "this database only (-1: the one the URL names, all if it names none)")
	o.alerting.Flags(f)
	c.AddCommand(serveTokenCommand(a), serveCheckCommand(a))
	f.StringArrayVar(&o.ring.KeysExec, "keys-exec", nil,
		"a program that prints the key ring; repeat the flag for each of its arguments")
	f.StringArrayVar(&o.ring.KeysEnv, "keys-env", nil,
		"a variable that this program needs beside PATH, HOME and the like, as VAULT_TOKEN or AWS_*; repeat the "+
			"flag for each")
	cli.Choices(c, "audit-by", auditKinds...)
	cli.Choices(c, "log-to", sinks...)
	cli.Choices(c, "read-from", "auto", "primary", "replica")
	return c
}

// Between readings of a server, and of its health.
const (
	glanceEvery = 5 * time.Second
	healthEvery = time.Minute
)

// leastEvery is the least time between audits.
const leastEvery = 10 * time.Second

func (o *Serving) prepare(a *cli.App) error {
	if err := cmp.Or(cli.OneOf("audit-by", o.by, auditKinds...), cli.OneOf("log-to", o.sink, sinks...)); err != nil {
		return err
	}
	if o.every < leastEvery {
		return cli.Usage("write --audit-every 15m", "--audit-every must be at least %s", leastEvery)
	}
	if o.IsURL() {
		return cli.Usage("write `keywright serve -u "+cli.ShellWord(o.Name)+"`", "a server goes after -u")
	}
	if err := o.checkFleet(a); err != nil {
		return err
	}
	o.ring.KeysFile = o.Keyring.KeysFile
	o.Progress, o.Forks, o.Snapshot = "none", 1, o.by == "snapshot"
	if o.by != "sample" {
		o.Sample = 0
	}
	return errors.Join(sources.CheckSource(a, &o.Sourcing), o.ring.Check(), o.checkProxy(), o.checkListen())
}

// checkFleet checks what is said of several targets, and of the janitor.
func (o *Serving) checkFleet(a *cli.App) error {
	switch {
	case o.targets != "" && (o.IsFile() || a.Given("url", "-u") || a.Given("file", "-f") || a.Given("namespace")):
		return cli.Usage("write them into the file",
			"--targets names servers and declarations, and so do -u, -f, --namespace and a snapshot file")
	case o.atOnce < 1 || o.atOnce > 100:
		return cli.Usage("write --audits-at-once 4", "--audits-at-once is a number from 1 to 100")
	case o.rest < 1:
		return cli.Usage("write --watch-rate 20", "--watch-rate is a number above 0")
	case o.show && o.IsFile():
		return cli.Usage("leave out --show-values", "a snapshot file is shown: there is no server to ask for a value")
	case o.janitor && o.IsFile():
		return cli.Usage("leave out --janitor", "a snapshot file is shown: there is nothing to do")
	}
	return o.tidying.Check()
}

func serveDashboard(ctx context.Context, a *cli.App, o *Serving) (err error) {
	if err := o.prepare(a); err != nil {
		return err
	}
	guard, l, err := o.listener()
	if err != nil {
		return err
	}
	defer l.Close()
	sayEnded(a, o, guard.Tokens)
	h := &serveDeps{app: a}
	if h.store, err = openHistory(ctx, a, o); err != nil {
		return err
	}
	if h.store != nil {
		defer h.store.Close()
	}
	if h.plans, err = openDesk(a, o, h); err != nil {
		return err
	}
	if h.plans != nil {
		defer func() { err = errors.Join(err, h.plans.Close()) }()
	}
	h.server = serve.New(serve.Options{History: h.store, Rules: cli.AllRules(), Files: dash.Files(),
		Version: cli.Version().Version, Now: a.Now,
		Guard: guard, Desk: h.plans, Alerts: h.wrong})
	watch, err := watching(a, o, h)
	if err != nil {
		return err
	}
	if h.alerter, err = newAlerter(a, o); err != nil {
		return err
	}
	defer h.alerter.Close()
	return listenAndWatch(ctx, a, o, l, h, watch)
}

// watching gives what watches the targets until ctx ends, and how they are called.
func watching(a *cli.App, o *Serving, h *serveDeps) (watch func(context.Context), err error) {
	if o.targets == "" {
		t, err := watched(a, o, "", nil, nil)
		if err != nil {
			return nil, err
		}
		h.server.Watch([]*observe.Target{t}, nil)
		return func(ctx context.Context) {
			a.Say("watching %s; ctrl-C stops", t.Name)
			h.run(ctx, &member{target: t})
		}, h.join(a, o, t)
	}
	all, text, err := readTargets(o.targets)
	if err != nil {
		return nil, cli.Usage("see docs/serve.md for its form", "--targets: %v", err)
	}
	f := newFleet(a, o, h)
	return func(ctx context.Context) {
		a.Say("watching the targets of %s; ctrl-C stops", o.targets)
		f.follow(ctx, all, text)
	}, nil
}

// openDaemon opens a store that keywrightd keeps.
func openDaemon(ctx context.Context, a *cli.App, name string) (history.Store, error) {
	program, err := daemon.Find()
	if err != nil {
		return nil, cli.Usage("install it beside keywright or into PATH with `"+daemon.Install+"`, or name a file with --store",
			"--store names a database, which %s keeps, and there is no %s", daemon.Program, daemon.Program)
	}
	s, err := daemon.Open(ctx, program, name)
	if errors.Is(err, history.ErrInUse) {
		return nil, cli.Usage("stop it, or name another file with --store", "%v: is another keywright serve running?", err)
	}
	if err != nil {
		return nil, cli.Usage("look at the name after --store (sqlite:FILE, postgres://user@host:5432/database), and whether "+
			"the database answers", "%s", a.HideSecrets(err.Error()))
	}
	return s, nil
}

// watched returns the target that the flags name, or one of the file of targets.
func watched(a *cli.App, o *Serving, id string, labels map[string]string, turns chan struct{}) (*observe.Target,
	error) {
	d := &cli.Declaration{Keyspace: &keyspace.Keyspace{}} // of a target of a file that names none
	folder := ""
	if id == "" || a.File != "" {
		var err error
		if d, err = declaredIfAny(a); err != nil {
			return nil, err
		}
		if path, err := a.Find(); err == nil {
			folder = filepath.Dir(path)
		}
	}
	options := observe.Options{Declaration: observed(a, d), Every: o.every, Glance: glanceEvery, Health: healthEvery,
		Rest: o.rest, Now: a.Now,
		Audit: audit.Options{Examples: 10, Top: 50, Groups: 50, MinKeys: 1}}
	if o.IsFile() {
		options.ID, options.Name = "snapshot", filepath.Base(o.Name)
		options.Source = func() (source.Source, source.Request, func(), error) { return sources.OpenSource(a, &o.Sourcing) }
		_, _, done, err := options.Source() // one that cannot be opened is a mistake of the call
		if err != nil {
			return nil, err
		}
		done()
		return observe.New(options)
	}
	config, err := a.Server()
	if err != nil {
		return nil, err
	}
	if db := o.Scan.OnlyDB; db >= 0 { // all that is read or changed is of it
		if a.URL, err = cli.WithDatabase(a.URL, a.Getenv, db); err != nil {
			return nil, err
		}
		config.DB = db
	}
	options.ID, options.Name = cmp.Or(id, "default"), config.String()
	options.Labels, options.Turns, options.Migrations = labels, turns, migrations(a, d, folder)
	options.Source = func() (source.Source, source.Request, func(), error) { return o.live(config) }
	options.Server = &observe.Server{Config: config, Open: func(ctx context.Context) (*keywright.Client, error) {
		with := a.ClientOptions()
		with.Name, with.Connections, with.Attempts = "keywright-serve", -1, 2
		return keywright.Open(ctx, a.URL, with)
	}}
	return observe.New(options)
}

// live returns the source of one audit of a server.
func (o *Serving) live(config connect.Config) (source.Source, source.Request, func(), error) {
	req := source.Request{Bytes: true, Sample: o.Sample}
	if o.Snapshot {
		return server.NewSnapshot(config,
			server.SnapshotOptions{Role: o.Scan.Role, MaxForks: o.Forks, OnlyDB: o.Scan.OnlyDB}), req, func() {}, nil
	}
	return server.New(config, o.Scan), req, func() {}, nil
}

// declaredIfAny returns the declaration; an empty one where there is no file.
func declaredIfAny(a *cli.App) (*cli.Declaration, error) {
	if _, err := a.Find(); err != nil && a.File == "" {
		a.Say("no %s here or in a folder above: all keys are shown as undeclared, with declarations to copy",
			cli.DeclarationName)
		return &cli.Declaration{Keyspace: &keyspace.Keyspace{}}, nil
	}
	d, _, err := a.LoadDeclaration()
	return d, err
}

// observed returns a declaration as a target has it.
func observed(a *cli.App, d *cli.Declaration) observe.Declaration {
	return observe.Declaration{Keyspace: d.Keyspace, Prefix: d.Prefix, File: d.Root,
		Schema: declare.SchemaChecker(d.Root, io.Discard),
		Judge:  func(found []finding.Finding) []finding.Finding { return cli.Silenced(a, d, found) }}
}

// What a request may take.
const (
	headerTime  = 5 * time.Second
	requestTime = 30 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 32 << 10
	stopTime    = 500 * time.Millisecond
)

// listenAndWatch serves until ctx ends.
func listenAndWatch(ctx context.Context, a *cli.App, o *Serving, l net.Listener, h *serveDeps,
	targets func(context.Context)) (err error) {
	web := &http.Server{Handler: h.server, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime,
		WriteTimeout: requestTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	defer h.work.Wait() // of what work has begun
	defer work.Wait()
	work.Go(func() { watchTokens(watch, a, o, h.server) })
	work.Go(func() { h.alerter.send(watch) })
	work.Go(func() {
		<-watch.Done()
		h.server.Close()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		if web.Shutdown(last) != nil {
			_ = web.Close()
		}
	})
	scheme := "http"
	if o.cert != "" {
		scheme = "https"
	}
	fmt.Fprintf(a.Out, "%s://%s/\n", scheme, l.Addr())
	work.Go(func() { targets(watch) })
	if o.cert != "" {
		err = web.ServeTLS(l, o.cert, o.key)
	} else {
		err = web.Serve(l)
	}
	stop()
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
