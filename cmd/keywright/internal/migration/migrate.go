// Package migration has the verbs of a migration from JSON files: migrate status, plan, import, verify, diff, advance,
// rollback, repair, export. Package migrate of the library does the work.
package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/spf13/cobra"
)

// migrating holds the flags that all verbs of migrate have.
type migrating struct {
	ring     sources.Ringing
	name     string
	root     string
	lease    time.Duration
	rate     int
	apply    bool
	output   string
	progress string
}

func MigrateCommand(a *cli.App) *cobra.Command {
	return a.Group(&cobra.Command{
		Use:   "migrate",
		Short: "Move records from JSON files to Redis, in phases that lose nothing",
		Long: `Moves the records of JSON files to Redis as the section migrations of the
declaration says: part by part, and each part through the phases off, dual-write,
backfill, shadow, live, ramp-down and complete, one step forward or back at a time,
while the programs go on writing. docs/migration.md has the whole way.

` + "`keywright migrate status`" + ` says where each part is, and what its next step lacks.`,
		Example: `  keywright migrate plan
  keywright migrate advance history --apply
  keywright migrate import history --apply
  keywright migrate status`,
	}, migratePlanCommand(a), migrateImportCommand(a), migrateStatusCommand(a),
		migrateVerifyCommand(a), migrateDiffCommand(a), migrateAdvanceCommand(a), migrateRollbackCommand(a),
		migrateRepairCommand(a), migrateExportCommand(a))
}

// migrateFlags are those of a verb of migrate.
func migrateFlags(a *cli.App, c *cobra.Command, o *migrating) {
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	f := c.Flags()
	f.StringVar(&o.name, "migration", "", "which migration, where more than one is declared")
	f.StringVar(&o.root, "root", "", "the folder of the sources (default: that of the declaration)")
	o.ring.Flags(c)
	f.DurationVar(&o.lease, "lease", 10*time.Second,
		"for how long a process of the migration may say nothing; as the programs have it")
	cli.Outputs(c, &o.output, "table", "json")
	c.ValidArgsFunction = completeParts(a, o)
}

// paceFlags are those of a verb that reads whole files.
func paceFlags(a *cli.App, c *cobra.Command, o *migrating) {
	f := c.Flags()
	f.IntVar(&o.rate, "rate", 0, "records per second at most (0: as fast as it goes)")
	cli.ProgressFlag(c, &o.progress)
}

func (o *migrating) Check(c *cobra.Command) error {
	if err := cmp.Or(cli.OneOf("output", o.output, "table", "json"), o.ring.Check()); err != nil {
		return err
	}
	if err := cli.CheckProgress(cmp.Or(o.progress, "auto")); err != nil {
		return err
	}
	if o.lease <= 0 || o.rate < 0 {
		return cli.Usage("see `"+c.CommandPath()+" --help`", "--lease must be above zero, and --rate no negative number")
	}
	return nil
}

// completeParts completes the names of parts.
func completeParts(a *cli.App, o *migrating) func(*cobra.Command, []string, string) ([]string,
	cobra.ShellCompDirective) {
	return func(*cobra.Command, []string, string) (out []string, _ cobra.ShellCompDirective) {
		path, err := a.Find()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		d, err := a.Load(path)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, m := range d.Migrations {
			for _, p := range m.Parts {
				if o.name == "" || o.name == m.Name {
					out = append(out, p.Name)
				}
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// migrationRun represents one run of a verb of migrate.
type migrationRun struct {
	*cli.App
	*migrating
	*migrate.Migration
	declared *keyspace.Migration
	folder   string // of the sources
	parts    []string
	named    bool // the parts were named
	server   string
	away     error // why there is no server; nil: there is
	client   *keywright.Client
	began    time.Time
	bar      *terminal.Progress
	part     meter
	records  bool // verify lists the records that differ
}

// meter describes how much of a part was read.
type meter struct {
	bytes, records, total, baseBytes, baseRecords int64
	began                                         time.Time
}

// need describes what a verb needs of the server.
type need uint8

const (
	noServer need = iota
	ifThere       // without one it says what the files know
	withServer
)

// openMigration loads the declaration and opens the migration; look: nothing is changed.
func openMigration(ctx context.Context, a *cli.App, c *cobra.Command, o *migrating, args []string, n need,
	look bool) (*migrationRun, error) {
	if err := o.Check(c); err != nil {
		return nil, err
	}
	d, path, err := a.LoadDeclaration()
	if err != nil {
		return nil, err
	}
	r := &migrationRun{App: a, migrating: o, began: a.Now(), named: len(args) > 0,
		folder: cmp.Or(o.root, filepath.Dir(path))}
	if r.declared, err = chooseMigration(d.Keyspace, o.name, path); err != nil {
		return nil, err
	}
	if r.parts, err = partsNamed(r.declared, args); err != nil {
		return nil, err
	}
	m, err := record.Compile(r.declared)
	if err != nil {
		return nil, cli.Usage("`keywright lint` says what to change", "the migration %s cannot be used: %v",
			r.declared.Name, err)
	}
	if err := r.connect(ctx, n); err != nil {
		return nil, err
	}
	r.bar = terminal.NewProgress(a.ProgressMode(cmp.Or(o.progress, "none")), a.Err, r.began)
	r.Migration, err = migrate.Open(ctx, migrate.Config{Root: r.folder, Map: m, Client: r.client, Lease: o.lease,
		Look: look, Progress: r.progressed})
	if err != nil {
		r.Close()
		return nil, migrateFailure(err)
	}
	return r, nil
}

// connect opens the server, where it is needed.
func (r *migrationRun) connect(ctx context.Context, n need) error {
	if n == noServer {
		return nil
	}
	config, err := r.App.Server()
	if err != nil {
		return err
	}
	r.server = config.String()
	with := r.ClientOptions()
	if n == withServer && sealed(r.declared) { // what only looks at phases opens no record
		ring, err := sources.KeyRing(ctx, r.App, &r.ring)
		if err != nil {
			return err
		}
		with.Sealer = ring
	}
	r.client, err = keywright.Open(ctx, r.URL, with)
	if err == nil || ctx.Err() != nil || n == withServer {
		return cli.ServerFailure(err)
	}
	r.away, r.client = cli.ServerFailure(err), nil
	return nil
}

// sealed reports whether an entry of a migration has something that is encrypted.
func sealed(m *keyspace.Migration) bool {
	for _, p := range m.Parts {
		if slices.ContainsFunc(p.Moves, func(mv *keyspace.Move) bool { return mv.To.HoldsSealed() }) {
			return true
		}
	}
	return false
}

func (r *migrationRun) Close() {
	r.bar.Clear()
	if r.Migration != nil {
		if err := r.Migration.Close(); err != nil {
			r.Say("warning: %v", err)
		}
	}
	if r.client != nil {
		r.client.Close()
	}
}

// chooseMigration returns the migration of that name, or the only one.
func chooseMigration(ks *keyspace.Keyspace, name, path string) (*keyspace.Migration, error) {
	var names []string
	for _, m := range ks.Migrations {
		if m.Name == name || name == "" && len(ks.Migrations) == 1 {
			return m, nil
		}
		names = append(names, m.Name)
	}
	switch {
	case len(names) == 0:
		return nil, cli.Usage("docs/migration.md says how to declare one",
			"%s declares no migration", path)
	case name == "":
		return nil, cli.Usage("name one with --migration: "+strings.Join(names, ", "), "%s declares %s", path,
			terminal.Plural(int64(len(names)), "migration"))
	}
	return nil, cli.Usage(cli.DidYouMean(name, names, "there is"), "%s declares no migration %q", path, name)
}

// partsNamed returns the parts that are named, or all, in their order.
func partsNamed(m *keyspace.Migration, args []string) (out []string, err error) {
	var all []string
	for _, p := range m.Parts {
		all = append(all, p.Name)
		if len(args) == 0 || slices.Contains(args, p.Name) {
			out = append(out, p.Name)
		}
	}
	for _, name := range args {
		if !slices.Contains(all, name) {
			return nil, cli.Usage(cli.DidYouMean(name, all, "there is"), "the migration %s has no part %q", m.Name, name)
		}
	}
	return out, nil
}

// onePart returns the part of a verb that changes one: the named one, or the only one.
func (r *migrationRun) onePart(c *cobra.Command) (string, error) {
	if len(r.parts) != 1 {
		return "", cli.Usage("write `"+c.CommandPath()+" "+r.parts[0]+"`", "%s takes one part: %s", c.CommandPath(),
			strings.Join(r.parts, ", "))
	}
	return r.parts[0], nil
}

// begin begins to read a part, for the progress.
func (r *migrationRun) begin(ctx context.Context, part string) error {
	_, total, err := r.Size(ctx, part)
	r.part = meter{total: total, baseBytes: r.part.bytes, baseRecords: r.part.records, bytes: r.part.bytes,
		records: r.part.records, began: r.Now()}
	return err
}

// progressed prints how much was read of the files since they were opened.
func (r *migrationRun) progressed(bytes, records int64) {
	r.part.bytes, r.part.records = bytes, records
	now := r.Now()
	r.bar.Show(terminal.State{What: "bytes", Done: bytes - r.part.baseBytes, Total: r.part.total,
		Elapsed: now.Sub(r.part.began), Note: terminal.Plural(records-r.part.baseRecords, "record")}, now)
}

// setsAside says what becomes of a file of the engine that cannot be read.
const setsAside = "bring the file back, or " +
	"`keywright migrate repair PART --from files|redis --accept-marks` sets it aside"

// migrateRefusals say what a migration refuses, and what to do then.
var migrateRefusals = []struct {
	is   error
	hint string
}{
	{phase.ErrLost,
		"Redis has lost data, or is another one: `keywright migrate repair PART --from files` or `--from redis` goes on"},
	{phase.ErrAhead,
		"Redis is ahead of the files: bring .keywright back, or `keywright migrate repair PART --from redis` goes on"},
	{migrate.ErrUnseen, setsAside},
	{migrate.ErrDamaged, setsAside},
	{migrate.ErrOtherwise, "restart it with the same declaration: `keywright migrate status` lists the processes"},
	{phase.ErrChanging, "another process changes the phase; try again"},
	{phase.ErrEpoch, "the phase was changed meanwhile; try again"},
	{phase.ErrStep, "`keywright migrate status` says where each part is"},
	{migrate.ErrMarked, "--accept-marks takes the records of the files"},
	{migrate.ErrMarks, "the other side has been away for too long: `keywright migrate status` says for which part"},
	{migrate.ErrTooMany, "declare smaller parts"},
	{migrate.ErrTooLarge, "one record of the files is too large for one step of the server"},
	{migrate.ErrWrittenMeanwhile, "stop the program that writes the file in its place, or run again when it has ended"},
}

// migrateFailure returns an error of the engine with its exit code.
func migrateFailure(err error) error {
	var said *cli.Exit
	var bad *record.Error
	var late *migrate.Unconfirmed
	var file *fs.PathError
	switch {
	case err == nil || errors.As(err, &said):
		return err
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &bad):
		hint := "mend the file; nothing of what comes after that place was read"
		if bad.At.Line == 0 { // the file cannot be one of the sources: the message says what to do
			hint = ""
		}
		return &cli.Exit{Code: cli.ExitFindings, Message: finding.Printable(bad.Error()), Hint: hint}
	case errors.As(err, &late):
		return &cli.Exit{Code: cli.ExitRefused, Message: late.Error(),
			Hint: "these processes live and have not answered: end them, or wait and try again"}
	}
	if refused := new(migrate.RefusedError); errors.As(err, &refused) {
		return &cli.Exit{Code: cli.ExitRefused, Message: cli.OneLine(err),
			Hint: "take them away from Redis, or change the declaration: " +
				"`keywright migrate export` lists them"}
	}
	if refused := new(record.Reject); errors.As(err, &refused) && refused.Key != "" && refused.At.File == "" {
		return &cli.Exit{Code: cli.ExitRefused, Message: err.Error(),
			Hint: "delete this record in Redis, or change the declaration; then run this again"}
	}
	for _, refusal := range migrateRefusals {
		if errors.Is(err, refusal.is) {
			return &cli.Exit{Code: cli.ExitRefused, Message: cli.OneLine(err), Hint: refusal.hint}
		}
	}
	switch {
	case errors.As(err, &file):
		return &cli.Exit{Code: cli.ExitUsage, Message: cli.OneLine(err), Hint: fileHint(err)}
	case unreachable(err):
		return &cli.Exit{Code: cli.ExitUnreachable, Message: "cannot use the server: " + cli.OneLine(err), Hint: ""}
	}
	return &cli.Exit{Code: cli.ExitRefused, Message: cli.OneLine(err), Hint: hintOf(err)}
}

// fileHint says what helps where a file cannot be used.
func fileHint(err error) string {
	switch {
	case cli.DiskFull(err):
		return "make room on that disk and run it again"
	case errors.Is(err, fs.ErrPermission):
		return "who runs it needs the right to read the sources, and to write into their folder"
	}
	return "--root names the folder of the sources"
}

// unreachable tells whether the server did not answer.
func unreachable(err error) bool {
	return kernel.Broken(err) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

func hintOf(err error) string {
	var failed *keywright.Error
	if errors.As(err, &failed) {
		return failed.Hint
	}
	return ""
}

// partOff represents a part that a verb left out, and why.
type partOff struct {
	Part string `json:"part"`
	Why  string `json:"why"`
}

// in tells whether a part is in one of these phases. One that is not is an error, if it was named
// or the verb takes one part: off is nil.
func (r *migrationRun) in(ctx context.Context, verb, part string, off *[]partOff, phases ...phase.Phase) (bool,
	error) {
	is, err := r.Phase(part)
	if err != nil || slices.Contains(phases, is.Phase) {
		return err == nil, migrateFailure(err)
	}
	if err := r.Lost(ctx, part); err != nil { // the phase is not known
		return false, migrateFailure(err)
	}
	var names []string
	for _, p := range phases {
		names = append(names, p.String())
	}
	why := fmt.Sprintf("it is in phase %s; %s works in %s", is.Phase, verb, strings.Join(names, ", "))
	if r.named || off == nil {
		hint := "`keywright migrate advance " + part + " --apply` brings it to the next phase"
		if is.Phase > phases[len(phases)-1] {
			hint = "it has been through that"
		}
		return false, &cli.Exit{Code: cli.ExitRefused, Message: "part " + part + ": " + why, Hint: hint}
	}
	*off = append(*off, partOff{part, why})
	return false, nil
}

// nothingDone returns the error of a verb that had to leave every part out.
func nothingDone(verb string, off []partOff, parts int) error {
	if len(off) < parts {
		return nil
	}
	return &cli.Exit{Code: cli.ExitRefused,
		Message: "no part can be " + verb + ": part " + off[0].Part + ": " + off[0].Why,
		Hint:    "`keywright migrate status` says where each part is"}
}

func (r *migrationRun) tellOff(off []partOff) {
	for _, p := range off {
		r.Print("%s: left out, %s", p.Part, p.Why)
	}
}
