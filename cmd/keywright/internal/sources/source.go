// Package sources opens what the verbs read from: servers, snapshots, append-only files, archives and their chains,
// with
// the flags that choose them, the keys that open them, and the names that keys have elsewhere. It prints no results.
package sources

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/dumpfile"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive/export"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

// Sourcing holds the flags of verbs that read keys, wherever they are.
type Sourcing struct {
	Name     string // a file, "-", or a URL; "": the server of the flags
	Scan     server.Options
	Role     string
	Snapshot bool
	Forks    int
	noCRC    bool
	replay   bool
	loaded   bool // by a throw-away server, which is read
	NoBytes  bool
	Sample   int64
	Progress string
	Retry    string // what again says, where that is something else
	Chaining
}

// SourceHelp explains them.
const SourceHelp = `With --snapshot a server is not scanned but sends what it would send a replica:
the keys of one moment, for a fork and next to nothing of its only thread. By
default a server waits 5 s before it begins (repl-diskless-sync-delay). The user
needs +psync, +sync and +replconf (keywright acl print --self --snapshot).
A file is an RDB file of any version, compressed or not, the RDB part of an AOF, or
the append-only folder of a server (appendonlydir), or
an archive that keywright backup wrote (an encrypted one is read with --identity or
a key ring, one of backup --since with --base); - is standard input and no archive. Bytes of a snapshot are an
estimate, TTLs are what was left when it was made.`

// snapshotFlags are those about snapshots.
func (o *Sourcing) snapshotFlags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&o.Snapshot, "snapshot", false, "read what the server sends a replica instead of scanning it")
	FileFlags(c, &o.Forks, &o.noCRC, &o.replay)
}

// FileFlags defines those of verbs that read snapshots, of servers or in files.
func FileFlags(c *cobra.Command, forks *int, noCRC, replay *bool) {
	f := c.Flags()
	ForksFlag(c, forks)
	f.BoolVar(noCRC, "no-crc", false, "do not verify the checksum of a snapshot file")
	f.BoolVar(replay, "replay", false,
		"of an append-only folder: a throw-away server from PATH loads a copy of it, and is read")
}

// ForksFlag defines --forks.
func ForksFlag(c *cobra.Command, forks *int) {
	c.Flags().IntVar(forks, "forks", 1,
		"with --snapshot: how many servers of a cluster may make a snapshot at the same time")
}

func (o *Sourcing) Flags(c *cobra.Command) {
	f := c.Flags()
	o.snapshotFlags(c)
	o.Chaining.Flags(c)
	f.Int64Var(&o.Sample, "sample", 0, "look at about so many keys from random places only")
	f.BoolVar(&o.NoBytes, "no-bytes", false, "do not ask for MEMORY USAGE: a third less work for the server")
	ScanFlags(c, &o.Scan, &o.Role,
		"keys per second at most, over all shards, with --values=all elements, too (0: as fast as the server answers)")
	cli.ProgressFlag(c, &o.Progress)
}

// ScanFlags defines how a server is scanned. rate explains --rate.
func ScanFlags(c *cobra.Command, scan *server.Options, role *string, rate string) {
	f := c.Flags()
	RateFlags(c, scan, rate)
	f.StringVar(role, "read-from", "auto", "auto (a replica in step, where there is one), primary or replica")
	f.IntVar(&scan.OnlyDB, "db", -1, "this database only (-1: the one the URL names, all if it names none)")
	cli.Choices(c, "read-from", roles...)
}

// RateFlags defines how fast a server is scanned. rate explains --rate.
func RateFlags(c *cobra.Command, scan *server.Options, rate string) {
	f := c.Flags()
	f.IntVar(&scan.Rate, "rate", 0, rate)
	f.DurationVar(&scan.MaxLatency, "max-latency", 0,
		"pause while the server needs longer than this to answer a PING (0: never)")
}

var roles = []string{"auto", "primary", "replica"}

// CheckRole checks --read-from, and has the scan follow it.
func CheckRole(scan *server.Options, role string) error {
	scan.Role = server.Role(role)
	return cli.OneOf("read-from", role, roles...)
}

// OneSource takes at most one argument.
func OneSource(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return cli.Usage("name one file or server", "%s takes one source, but got %d", cmd.CommandPath(), len(args))
	case len(args) == 1 && (strings.HasSuffix(args[0], ".yaml") || strings.HasSuffix(args[0], ".yml")):
		return cli.Usage("write `"+cmd.CommandPath()+" -f "+cli.ShellWord(args[0])+"`", "a declaration goes after -f")
	case len(args) == 1 && args[0] == "":
		return cli.Usage("name a file, or leave it out for the server", "the name of a file cannot be empty")
	}
	return nil
}

func (o *Sourcing) IsURL() bool { return strings.Contains(o.Name, "://") }

func (o *Sourcing) IsFile() bool { return o.Name != "" && !o.IsURL() }

// notFor returns the flags that say nothing about a kind of source.
func (o *Sourcing) notFor() (flags []string, what string) {
	if o.IsFile() {
		return []string{"snapshot", "forks", "rate", "max-latency", "read-from", "url", "-u", "timeout", "tls-ca", "tls-cert",
			"tls-key", "tls-server-name", "tls-insecure"}, "a file"
	}
	if o.Snapshot {
		return []string{"rate", "max-latency", "no-crc", "replay"}, "a snapshot of a server"
	}
	if o.loaded {
		return []string{"no-crc"}, "a folder that a server loads"
	}
	return []string{"forks", "no-crc", "replay"}, "a scan"
}

// CheckSource checks what flags cannot check themselves.
func CheckSource(a *cli.App, o *Sourcing) error {
	if err := cmp.Or(CheckRole(&o.Scan, o.Role), cli.CheckProgress(o.Progress)); err != nil {
		return err
	}
	for name, n := range map[string]int64{"rate": int64(o.Scan.Rate), "sample": o.Sample,
		"max-latency": int64(o.Scan.MaxLatency)} {
		if n < 0 {
			return cli.Usage("write a positive number, or leave it out", "--%s cannot be negative", name)
		}
	}
	if o.Scan.OnlyDB < -1 {
		return cli.Usage("write --db 0, or leave it out for all", "--db %d is no database", o.Scan.OnlyDB)
	}
	if o.Forks < 1 && o.Snapshot {
		return cli.Usage("write --forks 1", "--forks must be above zero")
	}
	flags, what := o.notFor()
	for _, f := range flags {
		if a.Given(f) {
			return cli.Usage("leave it out", "%s says nothing about %s", cli.Dashed(f), what)
		}
	}
	if o.IsURL() && a.Given("url", "-u") {
		return cli.Usage("name it once", "a server is named twice, as an argument and after -u")
	}
	return nil
}

// OpenSource opens what the flags name, with a request that shows progress. done
// closes it and clears the progress; it may be called twice.
func OpenSource(a *cli.App, o *Sourcing) (src source.Source, req source.Request, done func(), err error) {
	if err := CheckSource(a, o); err != nil {
		return nil, req, nil, err
	}
	if o.replay {
		return replayedSource(a, o)
	}
	bar := terminal.NewProgress(a.ProgressMode(o.Progress), a.Err, a.Now())
	req = source.Request{Bytes: !o.NoBytes, Sample: o.Sample, Progress: func(p source.Progress) {
		state := terminal.State{What: "keys", Done: p.Keys, Total: p.Total, Elapsed: p.Elapsed}
		if p.Paused {
			state.Note = "waiting for the server to get quicker"
		}
		bar.Show(state, a.Now())
	}}
	if o.IsFile() && archivefile.Is(o.Name) {
		in, err := OpenChained(context.Background(), a, o.Name, &o.Chaining)
		if err != nil {
			return nil, req, nil, err
		}
		src := export.NewSource(in.Chain,
			export.SourceOptions{Name: o.Name, OnlyDB: o.Scan.OnlyDB, Clock: a.Now, Cut: in.Cut})
		lavish := cli.LimitMemory()
		return src, req, func() { bar.Clear(); lavish(); in.Close() }, nil
	}
	if o.IsFile() {
		if why := begun(o.Name); why != nil {
			return nil, req, nil, why
		}
		f, err := dumpfile.Open(o.Name, a.In)
		if err != nil {
			return nil, req, nil, err
		}
		return rdb.New(f, dumpOptions(a, f, o.noCRC, o.Scan.OnlyDB)), req, func() { bar.Clear(); f.Close() }, nil
	}
	if o.IsURL() {
		a.URL = o.Name
	}
	config, err := a.Server()
	if err != nil {
		return nil, req, nil, err
	}
	src = server.New(config, o.Scan)
	if o.Snapshot {
		src = server.NewSnapshot(config,
			server.SnapshotOptions{Role: o.Scan.Role, MaxForks: o.Forks, OnlyDB: o.Scan.OnlyDB, Part: o.Scan.Part})
	}
	return src, req, bar.Clear, nil
}

// dumpOptions says how an open snapshot file is read.
func dumpOptions(a *cli.App, f *dumpfile.File, noCRC bool, onlyDB int) rdb.Options {
	options := rdb.Options{Name: f.Name, NoCRC: noCRC, OnlyDB: onlyDB, Taken: f.Modified, Clock: a.Now}
	if options.Taken.IsZero() {
		options.Taken = a.Now()
	}
	if f.Folder != nil {
		options.Follows = &rdb.Follows{Commands: f.Folder.Commands, Files: f.Folder.Files}
	}
	return options
}

// ChosenDB returns the database that --db or the URL names, -1 if none does.
func ChosenDB(a *cli.App, o *Sourcing) int {
	if o.Scan.OnlyDB >= 0 || o.IsFile() {
		return o.Scan.OnlyDB
	}
	options := a.Connect
	if options.URL = a.URL; o.IsURL() {
		options.URL = o.Name
	}
	options.Getenv = a.Getenv
	return NamedDB(options)
}

// NamedDB returns the database that a URL names, -1 if it names none.
func NamedDB(o connect.Options) int {
	if config, err := connect.New(o); err == nil && config.DB > 0 {
		return config.DB
	}
	return -1
}

// Again returns what to do about a run that did not see everything.
func (o *Sourcing) Again(why source.Reasons) string {
	if slices.ContainsFunc(why, func(r source.Reason) bool {
		return slices.Contains([]source.Code{source.Denied, source.ValuesDenied, source.Blind}, r.Code)
	}) {
		return "`keywright acl print --self` prints a user that may read what an audit needs"
	}
	if o.Retry != "" {
		return o.Retry
	}
	if slices.ContainsFunc(why, func(r source.Reason) bool { return r.Code == source.Missing }) {
		return "start the node that is missing, or let a replica take over, and run it again"
	}
	if why.Has(source.CommandsLeft) && o.IsFile() && !o.replay {
		return "--replay reads the commands, too: a throw-away server from PATH loads a copy of the folder"
	}
	if o.IsFile() && archivefile.Is(o.Name) {
		return "take another copy of the archive: `keywright archive verify` says what of this one is whole"
	}
	if o.IsFile() {
		return "let the server write the file again (BGSAVE), and copy it when it is done"
	}
	return "run it again when the server is at rest"
}

// UsualRate explains --rate.
const UsualRate = "keys per second at most, over all shards (0: as fast as the server answers)"

// ContentFlags are the flags of verbs that read whole values.
func (o *Sourcing) ContentFlags(c *cobra.Command) {
	o.snapshotFlags(c)
	ScanFlags(c, &o.Scan, &o.Role, UsualRate)
	cli.ProgressFlag(c, &o.Progress)
}
