// Command release makes a release of keywright from a clean tree: a commit that cuts the changelog and names the
// versions, a tag for each module that users install, and in dist/VERSION the programs for all systems, packages, lists
// of what is in them, a formula for Homebrew, a Containerfile, checksums and their signature. It pushes nothing and
// moves no branch. The same commit gives the same bytes.
//
// It is a module of its own, so that neither the library nor the command line gets what packages are made with. It is
// not released itself, and neither are bench and examples. docs/releasing.md says how it is used.
package main

import (
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/mod/semver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes the release that the arguments ask for.
func run(ctx context.Context, args []string, out io.Writer) error {
	r := release{out: out, programs: programs, level: gzip.BestCompression}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "the version, as in 0.1.0")
	flags.StringVar(&r.repo, "repo", ".", "the repository")
	flags.StringVar(&r.dist, "dist", "",
		"the folder that is written, and emptied before (default: dist/VERSION of the repository)")
	flags.BoolVar(&r.offline, "offline", false, "take modules of others from the local cache only")
	flags.StringVar(&r.keyFile, "sign-key", "",
		"the private key (ssh-ed25519, without a passphrase) that signs SHA256SUMS, from the root of the repository")
	flags.BoolVar(&r.accept, "accept-findings", false, "go on where a known vulnerability is found")
	systems := flags.String("platforms", strings.Join(platforms, ","), "for which systems")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no flag; say make release VERSION=0.1.0", flags.Arg(0))
	}
	r.platforms = strings.Split(*systems, ",")
	return r.make(ctx)
}

// release represents one release while it is made.
type release struct {
	version   string // without the v
	repo      string
	dist      string
	offline   bool
	platforms []string
	programs  []string
	keyFile   string
	accept    bool // of known vulnerabilities
	level     int  // of compression
	out       io.Writer

	work     string // a folder that is removed at the end
	part     string // what becomes dist when it is whole
	base     string // the commit that is released
	commit   string // the commit that is tagged: base, its changelog cut and its modules naming each other's version
	when     time.Time
	modules  []module // each after those that it requires
	tool     goTool
	notes    string     // the section of the changelog
	key      ssh.Signer // nil for a release that is not signed
	audited  []string   // what is known of vulnerabilities, or that nothing is
	archives []archive
}

// make makes the release in a folder that it removes.
func (r *release) make(ctx context.Context) (err error) {
	if r.work, err = os.MkdirTemp("", "keywright-release-"); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(r.work))
		if r.part != "" {
			err = errors.Join(err, os.RemoveAll(r.part))
		}
	}()
	if err := r.steps(ctx); err != nil {
		return err
	}
	return r.report()
}

// steps does all that a release is. The tags come last: one that fails leaves none.
func (r *release) steps(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"look at the version, the tree and the key", r.check},
		{"ask for known vulnerabilities", r.audit},
		{"make the commit", r.cut},
		{"read the modules as users will", r.serve},
		{"build", r.build},
		{"write what others install by", r.derive},
		{"write the checksums", r.sum},
		{"sign", r.sign},
		{"put the files in place", r.place},
		{"tag", r.tag},
	} {
		fmt.Fprintln(r.out, "---", step.name)
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a version that is none, and a tree that is not as it was committed.
func (r *release) check(ctx context.Context) (err error) {
	if v := "v" + r.version; semver.Canonical(v) != v || semver.Build(v) != "" {
		return fmt.Errorf("%q is no version: give three numbers, as in VERSION=0.1.0 or VERSION=0.1.0-rc.1", r.version)
	}
	if r.version == "0.0.0" {
		return errors.New("0.0.0 is what modules name before the first release: give another version, as in VERSION=0.1.0")
	}
	if major := semver.Major("v" + r.version); major != "v0" && major != "v1" {
		return fmt.Errorf("%s: modules of version 2 and later need /%s at the end of their paths", r.version, major)
	}
	for _, name := range ofARepository {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	if r.repo, err = git(ctx, r.repo, "rev-parse", "--show-toplevel"); err != nil {
		return err
	}
	if r.dist == "" {
		r.dist = filepath.Join(r.repo, "dist", r.version)
	}
	changed, err := git(ctx, r.repo, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the tree is not as it was committed; commit or remove these, then run it again:\n%s",
			firstLines(changed, 10))
	}
	if err := r.useKey(); err != nil {
		return err
	}
	r.tool, err = findGo(ctx, r.offline)
	return err
}

// firstLines returns the first lines of a text, and how many there are more.
func firstLines(text string, most int) string {
	lines := strings.Split(text, "\n")
	if len(lines) > most {
		lines = append(lines[:most:most], fmt.Sprintf("and %d more", len(lines)-most))
	}
	return strings.Join(lines, "\n")
}

// place makes the folder with all files the one that was asked for.
func (r *release) place(context.Context) error {
	if err := os.RemoveAll(r.dist); err != nil {
		return err
	}
	if err := os.Rename(r.part, r.dist); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(r.dist))
}

// syncFolder brings the names in a folder to the disk.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// tag brings commit and tags into the repository: all of them or none.
func (r *release) tag(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--atomic", r.tree()}
	for _, m := range r.modules {
		ref := "refs/tags/" + m.tag(r.version)
		args = append(args, ref+":"+ref)
	}
	if _, err := git(context.WithoutCancel(ctx), r.repo, args...); err != nil {
		return err
	}
	for _, m := range r.modules {
		fmt.Fprintln(r.out, m.tag(r.version))
	}
	return nil
}

// report says what there is now, and what is left to do.
func (r *release) report() error {
	var tags []string
	for _, m := range r.modules {
		tags = append(tags, m.tag(r.version))
	}
	_, err := fmt.Fprintf(r.out, `
%s
Known vulnerabilities:
  %s

The files are in %s. Nothing was pushed. To publish:
  git merge --ff-only %s
  git push --atomic origin HEAD %s
and add the files to the release on GitHub, with %s as its text.
`, r.signedBy(), strings.Join(r.audited, "\n  "), r.dist, tags[0], strings.Join(tags, " "), notesFile(r.version))
	return err
}
