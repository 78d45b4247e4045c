package command

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/history"
	"github.com/keywright/keywright/cmd/keywright/internal/history/file"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/dash"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

// serving are the flags of serve.
type serving struct {
	sourcing
	alerting
	listen string
	store  string
	every  time.Duration
	by     string
	tokens string
	cert   string
	key    string
	plain  bool
	hosts  []string

	allow bool   // plans may be applied
	plans string // the folder that keeps them
	pace  int    // keys per second at most that they change
	ring  ringing

	userHeader string // of a proxy
	proxies    []string
	operators  []string
}

// auditKinds are how serve may audit.
var auditKinds = []string{"scan", "snapshot", "sample"}

func (a *app) serveCommand() *cobra.Command {
	var o serving
	c := &cobra.Command{
		Use:   "serve [snapshot file]",
		Short: "Show a keyspace in the browser: what it holds, what grows, what is wrong",
		Long: `Watches a server and shows its keyspace under http://127.0.0.1:7380: entries with keys,
bytes and violations, what has changed since yesterday, any key explained, undeclared
keys with a declaration to copy, queues, locks, entities, streams, rankings, and the
server itself. It audits at an interval, reads the constructs every few seconds, and
keeps figures for 400 days in a file (--store).

It changes nothing on the server, unless --allow-apply lets operators make plans, look
at them, apply and stop them: clean-ups, TTLs, dead jobs by error, entities, seals. The
plans, their journals and a log of who did what are in the folder of --plans.

With the name of a snapshot file or an archive it shows that file, without a server.

All it shows can be had as JSON under /api/v1 (described by /api/v1/openapi.json), and
as metrics under /metrics. /healthz says that it runs, /readyz that it has something to
show.

With --webhooks FILE it posts, to Slack or as JSON, what begins to be wrong and when it
has ended: new and grown violations, queues that are late, a server that is away.

It listens on this machine only, without users, unless --tokens names users and HTTPS
(or a proxy that has it) hides what they send. A proxy that knows its users names them
in a header (--proxy-user-header), which is read from its addresses only.

Exit codes: 0 stopped, 2 usage or a bad file, 130 interrupted.`,
		Example: `  keywright serve -u redis://localhost:6379
  keywright serve dump.rdb
  keywright serve --audit-by snapshot --audit-every 1h --listen 127.0.0.1:9000`,
		Args: oneSource,
		RunE: func(c *cobra.Command, args []string) error {
			o.name = append(args, "")[0]
			return a.serve(c.Context(), &o)
		},
	}
	a.serverFlags(c)
	a.namespaceFlag(c)
	o.chaining.flags(c)
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:7380", "address and port to listen at; port 0 is any free one")
	f.StringVar(&o.tokens, "tokens", "", "a file with the users that may look, made by keywright serve token; needed to listen at more than this machine")
	f.StringVar(&o.cert, "https-cert", "", "PEM file with the certificate to serve HTTPS with")
	f.StringVar(&o.key, "https-key", "", "PEM file with its key")
	f.BoolVar(&o.plain, "proxy-has-tls", false, "a proxy before this server has the TLS: serve plain HTTP at more than this machine")
	f.StringSliceVar(&o.hosts, "host", nil, "host names that browsers may use for this server, beside the address it listens at")
	f.BoolVar(&o.allow, "allow-apply", false,
		"operators may change the server, by plans; without it nothing can be changed")
	f.StringVar(&o.plans, "plans", "keywright.plans",
		"with --allow-apply: the folder that keeps plans, their journals and the log of changes")
	f.IntVar(&o.pace, "apply-rate", 0, "with --allow-apply: keys per second at most that a plan changes (0: any)")
	f.StringVar(&o.userHeader, "proxy-user-header", "",
		"the header in which a proxy names the user, as in X-Forwarded-User; needs --proxy-from")
	f.StringSliceVar(&o.proxies, "proxy-from", nil,
		"addresses of the proxy (10.0.0.7, 10.0.0.0/24): the header of any other is not read")
	f.StringSliceVar(&o.operators, "proxy-operators", nil, "users of the proxy that are operators; others are viewers")
	f.StringVar(&o.store, "store", "keywright.db", "the file that keeps figures over time; none: keep none")
	f.DurationVar(&o.every, "audit-every", 15*time.Minute, "how long it is from one audit to the next")
	f.StringVar(&o.by, "audit-by", "scan", "how to audit: scan, snapshot (what the server sends a replica) or sample (keys from random places)")
	f.Int64Var(&o.sample, "sample", 100_000, "look at about so many keys from random places only")
	f.IntVar(&o.scan.Rate, "rate", 20_000, "with --audit-by scan: keys per second at most, over all shards (0: as fast as the server answers)")
	f.DurationVar(&o.scan.MaxLatency, "max-latency", 20*time.Millisecond, "pause while the server needs longer than this to answer a PING (0: never)")
	f.StringVar(&o.role, "read-from", "auto", "auto (a replica in step, where there is one), primary or replica")
	f.IntVar(&o.scan.OnlyDB, "db", -1, "this database only (-1: the one the URL names, all if it names none)")
	o.alerting.flags(f)
	c.AddCommand(a.serveTokenCommand())
	f.StringArrayVar(&o.ring.keysExec, "keys-exec", nil,
		"a program that prints the key ring; repeat the flag for each of its arguments")
	f.StringArrayVar(&o.ring.keysEnv, "keys-env", nil,
		"a variable that this program needs beside PATH, HOME and the like, as VAULT_TOKEN or AWS_*; repeat the flag for each")
	f.Lookup("allow-apply").Annotations = map[string][]string{noVariable: {"it must be said each time"}}
	choices(c, "audit-by", auditKinds...)
	choices(c, "read-from", "auto", "primary", "replica")
	return c
}

// Between readings of a server, and of its health.
const (
	glanceEvery = 5 * time.Second
	healthEvery = time.Minute
)

// leastEvery is the least time between audits.
const leastEvery = 10 * time.Second

func (o *serving) prepare(a *app) error {
	if err := oneOf("audit-by", o.by, auditKinds...); err != nil {
		return err
	}
	if o.every < leastEvery {
		return usage("write --audit-every 15m", "--audit-every must be at least %s", leastEvery)
	}
	if o.isURL() {
		return usage("write `keywright serve -u "+shellWord(o.name)+"`", "a server goes after -u")
	}
	o.ring.keysFile = o.keyring.keysFile
	o.progress, o.forks, o.snapshot = "none", 1, o.by == "snapshot"
	if o.by != "sample" {
		o.sample = 0
	}
	return errors.Join(a.checkSource(&o.sourcing), o.ring.check(), o.checkProxy(), o.checkListen())
}

// checkListen refuses an address that other machines reach.
func (o *serving) checkListen() error {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return usage("write --listen 127.0.0.1:7380", "--listen %q is no address with a port", o.listen)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	switch {
	case o.tokens == "" && o.userHeader == "":
		return usage("write --tokens FILE (`keywright serve token` makes one), or --listen 127.0.0.1:7380 and ssh -L 7380:127.0.0.1:7380",
			"--listen %s lets other machines read the names of keys, and no --tokens says which users may", o.listen)
	case o.cert == "" && !o.plain:
		return usage("write --https-cert and --https-key, or --proxy-has-tls where a proxy has the TLS",
			"--listen %s would send tokens and the names of keys over the network in the clear", o.listen)
	}
	return nil
}

// checkProxy checks what is said of a proxy, and of plans.
func (o *serving) checkProxy() error {
	switch {
	case o.userHeader == "" && len(o.proxies)+len(o.operators) > 0:
		return usage("name it with --proxy-user-header",
			"--proxy-from and --proxy-operators are for a proxy that names the user in a header")
	case o.userHeader != "" && len(o.proxies) == 0:
		return usage("name the proxy's address with --proxy-from", "anyone could send the header %s", o.userHeader)
	case !o.allow && o.pace != 0:
		return usage("add --allow-apply, or leave it out", "--apply-rate is for plans, and none can be applied")
	case o.pace < 0:
		return usage("write a positive number, or leave it out", "--apply-rate cannot be negative")
	case o.allow && o.isFile():
		return usage("leave out --allow-apply", "a snapshot file is shown: there is nothing to change")
	}
	_, err := o.proxy()
	return err
}

// proxy is the proxy that knows its users; nil: there is none.
func (o *serving) proxy() (*serve.Proxy, error) {
	if o.userHeader == "" {
		return nil, nil
	}
	p := &serve.Proxy{Header: o.userHeader, Operators: o.operators}
	for _, text := range o.proxies {
		n, err := netip.ParsePrefix(text)
		if ip, bare := netip.ParseAddr(text); err != nil && bare == nil {
			n, err = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
		}
		if err != nil {
			return nil, usage("write 10.0.0.7 or 10.0.0.0/24", "--proxy-from %q is no address", text)
		}
		p.From = append(p.From, n)
	}
	return p, nil
}

// readTokens reads the file of --tokens.
func (o *serving) readTokens() ([]serve.Token, error) {
	if (o.cert == "") != (o.key == "") {
		return nil, usage("write both", "--https-cert and --https-key go together")
	}
	if o.tokens == "" {
		return nil, nil
	}
	f, err := os.Open(o.tokens)
	if err != nil {
		return nil, usage("`keywright serve token` makes one", "the tokens cannot be read: %v", err)
	}
	defer f.Close()
	tokens, err := serve.ReadTokens(f)
	if err != nil {
		return nil, usage("`keywright serve token` writes its lines", "%s: %v", o.tokens, err)
	}
	return tokens, nil
}

// serveTokenCommand makes tokens.
func (a *app) serveTokenCommand() *cobra.Command {
	var role string
	c := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for a user of serve",
		Long: `Makes a token for a user. The token is printed to standard error, once; to standard
output goes the line for the file of --tokens, which has a digest of it only.`,
		Example: `  keywright serve token alice >> tokens
  keywright serve token deploy --role operator >> tokens`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || strings.ContainsAny(args[0], " \t\n#") || args[0] == "" {
				return usage("as in `keywright serve token alice`", "%s takes the name of a user, without spaces", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := oneOf("role", role, string(serve.Viewer), string(serve.Operator)); err != nil {
				return err
			}
			secret := rand.Text() + rand.Text()
			t := serve.Token{User: serve.User{Name: args[0], Role: serve.Role(role)}, Digest: sha256.Sum256([]byte(secret))}
			a.tell("%s", t.Line())
			fmt.Fprintf(a.err, "the token of %s, which is not shown again: %s\n", finding.Printable(args[0]), secret)
			return nil
		},
	}
	c.Flags().StringVar(&role, "role", string(serve.Viewer), "viewer (looks) or operator (may also apply plans, where that is allowed)")
	choices(c, "role", string(serve.Viewer), string(serve.Operator))
	return c
}

func (a *app) serve(ctx context.Context, o *serving) (err error) {
	if err := o.prepare(a); err != nil {
		return err
	}
	guard, l, err := o.listener()
	if err != nil {
		return err
	}
	defer l.Close()
	t, err := a.watched(o)
	if err != nil {
		return err
	}
	store, err := a.openHistory(o)
	if err != nil {
		return err
	}
	if store != nil {
		defer store.Close()
	}
	desk, err := a.openDesk(o, t)
	if err != nil {
		return err
	}
	if desk != nil {
		defer func() { err = errors.Join(err, desk.Close()) }()
	}
	var s *serve.Server
	t.Keep = func(ctx context.Context, found *observe.Audit) error {
		if store == nil {
			return nil
		}
		return errors.Join(store.Append(ctx, t.ID, found.At, s.Points(t, found)), store.Prune(ctx, a.now()))
	}
	s = serve.New(serve.Options{Targets: []*observe.Target{t}, History: store, Rules: AllRules(), Files: dash.Files(), Version: version().Version, Now: a.now,
		Guard: guard, Desk: desk})
	alerts, err := a.alerts(o, t)
	if err != nil {
		return err
	}
	return a.listenAndWatch(ctx, o, l, s, t, alerts)
}

// listener reads what says who may look, and listens: what is wrong with either is told
// before a file is made.
func (o *serving) listener() (guard serve.Guard, l net.Listener, err error) {
	host, _, _ := net.SplitHostPort(o.listen)
	guard = serve.Guard{Hosts: append(slices.Clone(o.hosts), host), TLS: o.cert != "", AllowApply: o.allow}
	if guard.Tokens, err = o.readTokens(); err != nil {
		return guard, nil, err
	}
	if guard.Proxy, err = o.proxy(); err != nil {
		return guard, nil, err
	}
	if o.cert != "" {
		if _, err := tls.LoadX509KeyPair(o.cert, o.key); err != nil {
			return guard, nil, usage("name PEM files that belong together",
				"--https-cert and --https-key cannot be used: %v", err)
		}
	}
	if l, err = net.Listen("tcp", o.listen); err != nil {
		return guard, nil, usage("name another port with --listen", "%v", err)
	}
	return guard, l, nil
}

// openDesk opens the folder of --plans; nil: no plan may be applied.
func (a *app) openDesk(o *serving, t *observe.Target) (*operate.Desk, error) {
	if !o.allow {
		return nil, nil
	}
	d, err := operate.Open(o.plans, operate.Options{Now: a.now, Runners: map[string]operate.Runner{t.ID: &planner{a,
		o.ring, o.pace, o.scan.OnlyDB}},
		Told: func(_ string, all []observe.Run, changed observe.Run) { t.Ran(all, changed) }})
	switch {
	case errors.Is(err, apply.ErrInUse):
		return nil, usage("stop it, or name another folder with --plans", "%v: is another keywright serve running?",
			err)
	case err != nil:
		return nil, usage("name another folder with --plans", "the folder for plans cannot be used: %v", err)
	}
	for _, skipped := range d.Skipped {
		a.say("warning: a plan of %s is not shown: %s", o.plans, skipped)
	}
	return d, nil
}

// openHistory opens the file of --store. A snapshot file has no history.
func (a *app) openHistory(o *serving) (history.Store, error) {
	if o.store == "none" || o.isFile() {
		return nil, nil
	}
	f, err := file.Open(o.store, a.now())
	var damaged *history.Damaged
	switch {
	case errors.As(err, &damaged):
		a.say("warning: %v", err)
	case errors.Is(err, history.ErrInUse):
		return nil, usage("stop it, or name another file with --store", "%v: is another keywright serve running?", err)
	case err != nil:
		return nil, usage("name another file with --store, or write --store none", "%v", err)
	}
	return f, nil
}

// watched is the target that the flags name.
func (a *app) watched(o *serving) (*observe.Target, error) {
	d, err := a.declaredIfAny()
	if err != nil {
		return nil, err
	}
	options := observe.Options{Declaration: a.observed(d), Every: o.every, Glance: glanceEvery, Health: healthEvery, Now: a.now,
		Audit: audit.Options{Examples: 10, Top: 50, Groups: 50, MinKeys: 1}}
	if o.isFile() {
		options.ID, options.Name = "snapshot", filepath.Base(o.name)
		options.Source = func() (source.Source, source.Request, func(), error) { return a.source(&o.sourcing) }
		return observe.New(options)
	}
	config, err := a.server()
	if err != nil {
		return nil, err
	}
	if db := o.scan.OnlyDB; db >= 0 { // all that is read or changed is of it
		if a.url, err = withDatabase(a.url, a.Getenv, db); err != nil {
			return nil, err
		}
		config.DB = db
	}
	options.ID, options.Name = "default", config.String()
	options.Source = func() (source.Source, source.Request, func(), error) { return o.live(config) }
	options.Server = &observe.Server{Config: config, Open: func(ctx context.Context) (*keywright.Client, error) {
		return keywright.Open(ctx, a.url, keywright.Options{Name: "keywright-serve", CAFile: a.connect.CAFile, CertFile: a.connect.CertFile, KeyFile: a.connect.KeyFile,
			ServerName: a.connect.ServerName, Insecure: a.connect.Insecure, Timeout: a.connect.Timeout, NoCache: true, Connections: -1, Attempts: 2, Getenv: a.Getenv})
	}}
	return observe.New(options)
}

// live is the source of one audit of a server.
func (o *serving) live(config connect.Config) (source.Source, source.Request, func(), error) {
	req := source.Request{Bytes: true, Sample: o.sample}
	if o.snapshot {
		return server.NewSnapshot(config, server.SnapshotOptions{Role: o.scan.Role, MaxForks: o.forks, OnlyDB: o.scan.OnlyDB}), req, func() {}, nil
	}
	return server.New(config, o.scan), req, func() {}, nil
}

// declaredIfAny is the declaration; an empty one where there is no file.
func (a *app) declaredIfAny() (*declaration, error) {
	if _, err := a.find(); err != nil && a.file == "" {
		a.say("no %s here or in a folder above: all keys are shown as undeclared, with declarations to copy", declarationName)
		return &declaration{Keyspace: &keyspace.Keyspace{}}, nil
	}
	d, _, err := a.usable()
	return d, err
}

// observed is a declaration as a target has it.
func (a *app) observed(d *declaration) observe.Declaration {
	return observe.Declaration{Keyspace: d.Keyspace, Prefix: d.prefix, File: d.root, Schema: schemaChecker(d.root, io.Discard),
		Judge: func(found []finding.Finding) []finding.Finding { return a.silenced(d, found) }}
}

// silenced are the findings of an audit without those that comments silence.
func (a *app) silenced(d *declaration, found []finding.Finding) []finding.Finding {
	kept := finding.Ignore(finding.WithFixes(d.moved(found), AllRules()), d.sources, AllRules(), nil, a.now())
	return slices.DeleteFunc(kept, func(f finding.Finding) bool { return strings.HasPrefix(f.Code, "KW09") }) // lint's to say
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
func (a *app) listenAndWatch(ctx context.Context, o *serving, l net.Listener, s *serve.Server,
	t *observe.Target, alerts func(context.Context)) (err error) {
	web := &http.Server{Handler: s, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: requestTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { t.Run(watch) })
	work.Go(func() { alerts(watch) })
	work.Go(func() { a.watchTokens(watch, o, s) })
	work.Go(func() {
		<-watch.Done()
		s.Close()
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
	fmt.Fprintf(a.out, "%s://%s/\n", scheme, l.Addr())
	a.say("watching %s; ctrl-C stops", t.Name)
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
