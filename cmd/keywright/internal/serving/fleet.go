package serving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"go.yaml.in/yaml/v4"
)

// Bounds of a file of targets.
const (
	maxTargets     = 1000
	maxTargetsFile = 4 << 20
	maxLabels      = 20
	maxLabel       = 200
	targetsEvery   = 2 * time.Second // between looks at the file
	brokenEvery    = 15              // looks, between attempts at what is broken
)

// spec represents a target as the file has it.
type spec struct {
	Name        string            `yaml:"name"`
	URL         string            `yaml:"url"`
	Declaration string            `yaml:"declaration"` // "": none
	Namespace   string            `yaml:"namespace"`
	Labels      map[string]string `yaml:"labels"`
}

// targetsFile represents the file of --targets.
type targetsFile struct {
	Form    int    `yaml:"keywright_targets"`
	Targets []spec `yaml:"targets"`
}

var (
	targetWord = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	labelName  = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)
	variable   = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
)

// readTargets reads a file of targets. Names of declarations are relative to it.
func readTargets(path string) ([]spec, []byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTargetsFile+1))
	if err != nil {
		return nil, nil, err
	}
	all, err := parseTargets(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range all {
		if d := all[i].Declaration; d != "" && !filepath.IsAbs(d) {
			all[i].Declaration = filepath.Join(filepath.Dir(path), d)
		}
	}
	return all, text, nil
}

func parseTargets(text []byte) ([]spec, error) {
	if len(text) > maxTargetsFile {
		return nil, errors.New("it is larger than 4 MiB")
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var file targetsFile
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if file.Form != 1 {
		return nil, errors.New("it does not begin with keywright_targets: 1")
	}
	if n := len(file.Targets); n == 0 || n > maxTargets {
		return nil, fmt.Errorf("it has %d targets, and not from 1 to %d", n, maxTargets)
	}
	seen := map[string]bool{}
	for i, s := range file.Targets {
		switch {
		case !targetWord.MatchString(s.Name):
			return nil, fmt.Errorf("target %d: the name %q is not of a-z, 0-9, - and _", i+1, s.Name)
		case seen[s.Name]:
			return nil, fmt.Errorf("there are two targets %s", s.Name)
		case s.URL == "":
			return nil, fmt.Errorf("the target %s has no url", s.Name)
		case len(s.Labels) > maxLabels:
			return nil, fmt.Errorf("the target %s has more than %d labels", s.Name, maxLabels)
		}
		seen[s.Name] = true
		for name, value := range s.Labels {
			if !labelName.MatchString(name) || len(value) > maxLabel {
				return nil, fmt.Errorf("the target %s: a label is a name of a-z, 0-9 and _, and a text of at most %d bytes", s.Name,
					maxLabel)
			}
		}
	}
	return file.Targets, nil
}

// member represents a target that is watched.
type member struct {
	target *observe.Target
	stop   context.CancelFunc
	ended  chan struct{}
}

// fleet watches the targets of a file, and follows it.
type fleet struct {
	*cli.App
	o      *Serving
	house  *serveDeps
	turns  chan struct{} // of audits
	specs  map[string]spec
	now    map[string]*member
	broken []serve.Broken
	judge  watcher           // of those that are broken
	named  map[string]string // the keyspaces, by target, as far as one was known
	text   []byte            // of the file
	said   string
}

func newFleet(a *cli.App, o *Serving, h *serveDeps) *fleet {
	return &fleet{App: a, o: o, house: h, turns: make(chan struct{}, o.atOnce), specs: map[string]spec{},
		now: map[string]*member{}, named: map[string]string{}}
}

// follow makes the targets those of the file, again and again until ctx ends. A file that cannot
// be read changes nothing.
func (f *fleet) follow(ctx context.Context, first []spec, text []byte) {
	f.text = text
	f.take(ctx, first)
	for looks := 1; cli.Pause(ctx, targetsEvery) == nil; looks++ {
		all, text, err := readTargets(f.o.targets)
		switch {
		case err != nil:
			if said := err.Error(); said != f.said {
				f.said = said
				f.Say("the targets stay as they are: %s", finding.Printable(said))
			}
		case !bytes.Equal(text, f.text):
			f.text, f.said = text, ""
			f.take(ctx, all)
			f.Say("watching %d targets", len(f.now))
		case len(f.broken) > 0 && looks%brokenEvery == 0: // a declaration may have been mended
			f.take(ctx, all)
		}
	}
	for name := range f.now {
		f.drop(name, false)
	}
}

// take makes the targets those that are given. One that stays as it was goes on.
func (f *fleet) take(ctx context.Context, all []spec) {
	var begin []spec
	before, others := f.broken, false
	f.broken = nil
	for name := range f.now {
		if i := slices.IndexFunc(all, func(s spec) bool { return s.Name == name }); i < 0 || !same(all[i], f.specs[name]) {
			f.drop(name, i < 0)
			others = true
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(all, func(s spec) bool { return s.Name == b.ID }) {
			f.house.Leave(b.ID, true)
		}
	}
	for _, s := range all {
		if f.now[s.Name] == nil {
			begin = append(begin, s)
		}
	}
	f.judge.alerter = f.house.alerter
	for _, s := range begin {
		m, why := f.begin(ctx, s)
		if why != "" {
			f.broken = append(f.broken, serve.Broken{ID: s.Name, Name: s.Name, Declaration: s.Declaration,
				Keyspace: f.keyspace(s), Labels: s.Labels, Why: why})
			f.judge.broken(s.Name, why)
			if !slices.ContainsFunc(before, func(b serve.Broken) bool { return b.ID == s.Name && b.Why == why }) {
				f.Say("the target %s is not watched: %s", s.Name, why)
			}
			continue
		}
		f.now[s.Name], f.specs[s.Name], others = m, s, true
		f.named[s.Name] = m.target.Declaration.Package
	}
	if !others && slices.EqualFunc(before, f.broken, func(a, b serve.Broken) bool {
		return a.ID == b.ID && a.Keyspace == b.Keyspace && a.Why == b.Why
	}) {
		return // streams of events go on
	}
	var targets []*observe.Target
	for _, m := range f.now {
		targets = append(targets, m.target)
	}
	f.house.server.Watch(targets, f.broken)
	for _, s := range begin { // it is found in the list from now on
		if m := f.now[s.Name]; m != nil {
			f.house.run(ctx, m)
		}
	}
}

func same(a, b spec) bool {
	if a.Name != b.Name || a.URL != b.URL || a.Declaration != b.Declaration || a.Namespace != b.Namespace ||
		len(a.Labels) != len(b.Labels) {
		return false
	}
	for name, value := range a.Labels {
		if other, there := b.Labels[name]; !there || other != value {
			return false
		}
	}
	return true
}

// drop watches a target no more. gone: it is not in the file any more.
func (f *fleet) drop(name string, gone bool) {
	m := f.now[name]
	m.stop()
	<-m.ended
	delete(f.now, name)
	delete(f.specs, name)
	f.house.Leave(name, gone)
}

// begin prepares a target of the file, or says why it cannot be watched.
func (f *fleet) begin(ctx context.Context, s spec) (m *member, why string) {
	one := *f.App
	one.Variables, one.Keyspace, one.Args, one.Quiet = slices.Clone(f.Variables), nil, nil, true
	one.Out, one.Err = terminal.NewScreen(io.Discard, f.Getenv), terminal.NewScreen(io.Discard, f.Getenv)
	one.File, one.Namespace = s.Declaration, s.Namespace
	o := *f.o
	var err error
	if one.URL, err = f.expand(s.URL); err == nil {
		m = &member{}
		m.target, err = watched(&one, &o, s.Name, s.Labels, f.turns)
	}
	if err == nil {
		err = f.house.join(&one, &o, m.target)
	}
	if err == nil {
		return m, ""
	}
	why, hint, _ := cli.Verdict(ctx, err)
	if hint != "" {
		why += " (" + hint + ")"
	}
	return nil, finding.Printable(one.HideSecrets(why))
}

// keyspace returns the package of the declaration of a target that cannot be watched, as far as that can be read; if
// not, the one that it had.
func (f *fleet) keyspace(s spec) string {
	if s.Declaration == "" {
		return ""
	}
	d, err := cli.ReadDeclaration(s.Declaration, nil)
	if err == nil && d.Package != "" {
		return d.Package
	}
	return f.named[s.Name]
}

// expand puts variables of the environment into a URL: secrets stay out of the file.
func (f *fleet) expand(text string) (string, error) {
	var missing error
	out := variable.ReplaceAllStringFunc(text, func(name string) string {
		value := f.Getenv(name[2 : len(name)-1])
		if value == "" {
			missing = cli.Usage("set it where keywright serve is started", "the variable %s of its url is not set",
				name[2:len(name)-1])
		}
		return value
	})
	return out, missing
}
