package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/internal/jsonbound"
	"github.com/keywright/keywright/source/server"
)

// checkpointForm is the version of the form of checkpoint files.
const checkpointForm = 1

// checkpoint represents a file with an audit that has not come to its end.
type checkpoint struct {
	Form      int             `json:"keywright_checkpoint"`
	Program   string          `json:"program"` // whose rules judged the keys
	Asked     string          `json:"asked"`   // a digest of the declaration and of the flags that decide what is kept
	Position  server.Position `json:"position"`
	Judgement json.RawMessage `json:"audit"`
}

// checkpointing writes checkpoints of a running audit.
type checkpointing struct {
	path  string
	fold  *audit.Audit
	asked string
	now   func() time.Time
	next  time.Time // when the next is due
	wrote bool
	most  int  // bytes of one that is written
	told  bool // that one was too large
	say   func(format string, args ...any)
}

// Checkpoints are written about every second, and less often where writing one takes
// long: it takes a twentieth of the time at most.
const (
	checkpointEvery = time.Second
	checkpointShare = 20
)

// resumes opens the checkpoint of an audit, if there is one, and makes the scan write
// others.
func (o *auditing) resumes(a *cli.App, d *cli.Declaration, schemas []byte, fold *audit.Audit) (*checkpointing, error) {
	if o.checkpoint == "" {
		return nil, nil
	}
	if err := o.mayResume(); err != nil {
		return nil, err
	}
	if err := cli.Writable(o.checkpoint); err != nil {
		return nil, cli.Usage("name a file in a folder that can be written to", "--checkpoint: %v", err)
	}
	c := &checkpointing{path: o.checkpoint, fold: fold,
		asked: o.Asked(d, schemas, sources.ChosenDB(a, &o.Sourcing)) + a.Namespace + o.part, now: a.Now, most: maxCheckpoint,
		say: a.Say}
	from, err := c.read()
	if err != nil {
		return nil, err
	}
	o.Scan.Checkpoints = &server.Checkpoints{From: from, Due: func() bool { return !c.now().Before(c.next) }, Save: c.save}
	if from != nil {
		a.Say("going on from %s: %s keys were read before", o.checkpoint, terminal.Count(from.Keys))
	}
	return c, nil
}

// mayResume says which audits have no checkpoints.
func (o *auditing) mayResume() error {
	leaveOut := "leave out one of them"
	switch {
	case o.IsFile() || o.Snapshot:
		return cli.Usage("leave out --checkpoint: a file and a snapshot are read from their beginning",
			"--checkpoint is for the scan of a server")
	case o.Sample > 0:
		return cli.Usage(leaveOut, "--checkpoint and --sample exclude each other")
	case len(o.offending.codes) > 0:
		return cli.Usage(leaveOut,
			"--checkpoint and --keys-of exclude each other: keys that were printed would be printed again")
	}
	return nil
}

// Asked returns a digest of all that decides what an audit keeps of the keys.
func (o *auditing) Asked(d *cli.Declaration, schemas []byte, db int) string {
	h := sha256.New()
	for _, file := range slices.Sorted(maps.Keys(d.Sources)) {
		fmt.Fprintf(h, "%d %s", len(d.Sources[file]), d.Sources[file])
	}
	h.Write(schemas)
	fmt.Fprintf(h, "%q %q %v %v %v", o.audit.Include, o.audit.Exclude, o.audit.Values, o.audit.Whole, o.NoBytes)
	fmt.Fprintf(h, " %d %d %d", o.top, o.examples, db)
	return hex.EncodeToString(h.Sum(nil))
}

// What a checkpoint may have: an audit keeps few things of many keys.
const (
	maxCheckpoint = 64 << 20
	maxMade       = 1_000_000 // objects
)

func readCheckpoint(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCheckpoint+1))
	if err == nil && tooLarge(text) {
		return nil, cli.Usage("name another file", "%s is no checkpoint of an audit: it is too large", path)
	}
	return text, err
}

// tooLarge reports whether a checkpoint is refused when it is read; such a one is not
// written.
func tooLarge(text []byte) bool {
	return len(text) > maxCheckpoint || jsonbound.Check(text, maxMade, 4*maxMade) != nil
}

// read returns the position of the file, nil if there is none. The fold goes on where it was.
func (c *checkpointing) read() (*server.Position, error) {
	fresh := "delete " + cli.ShellWord(c.path) + " to begin from the start, or name another file"
	text, err := readCheckpoint(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kept checkpoint
	switch err := json.Unmarshal(text, &kept); {
	case err != nil || kept.Form == 0:
		return nil, cli.Usage("name another file", "%s is no checkpoint of an audit", c.path)
	case kept.Form != checkpointForm || kept.Program != program():
		return nil, cli.Usage(fresh, "%s is of another version of keywright (%s)", c.path, kept.Program)
	case kept.Asked != c.asked:
		return nil, cli.Usage(fresh+"; for the same audit write the same flags",
			"%s is of an audit with another declaration or other flags", c.path)
	}
	if err := c.fold.Restore(kept.Judgement); err != nil {
		return nil, cli.Usage(fresh, "%s: %v", c.path, err)
	}
	return &kept.Position, nil
}

func program() string { return strings.TrimSpace(cli.Version().Version + " " + cli.Version().Revision) }

// save replaces the file. It has the names of keys in it: only its owner may read it.
func (c *checkpointing) save(at server.Position) error {
	began := c.now()
	judgement, err := c.fold.State()
	if err != nil {
		return err
	}
	text, err := json.Marshal(checkpoint{checkpointForm, program(), c.asked, at, judgement})
	large := err == nil && (len(text) > c.most || tooLarge(text))
	if large {
		c.tooLarge(len(text))
	} else if err == nil {
		err = cli.ReplaceTextAs(c.path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("the checkpoint cannot be written: %w", err)
	}
	ended := c.now()
	c.wrote, c.next = c.wrote || !large, ended.Add(max(checkpointEvery, checkpointShare*ended.Sub(began)))
	return nil
}

// tooLarge says once that a checkpoint is not written: the audit goes on, and the last one
// that was written stays.
func (c *checkpointing) tooLarge(size int) {
	if !c.told {
		c.say("no checkpoint is written any more: it would have %s, and %s are read; write fewer names with --top and "+
			"--examples", terminal.Bytes(int64(size)), terminal.Bytes(int64(c.most)))
	}
	c.told = true
}

// end removes the file of an audit that came to its end, or says what to do with it.
func (c *checkpointing) end(a *cli.App, r *audit.Report, scanErr error) error {
	if c == nil {
		return nil
	}
	var other *server.NotResumable
	if errors.As(scanErr, &other) {
		hint := "delete " + cli.ShellWord(c.path) + " to begin from the start"
		if strings.Contains(other.Error(), "INFO") {
			hint = "leave out --checkpoint, or let the user run INFO"
		}
		return cli.Usage(hint, "%v", other)
	}
	if r != nil && r.Complete && scanErr == nil {
		if err := os.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if c.wrote {
		a.Say("what was read is kept in %s: the same command goes on from there", c.path)
	}
	return nil
}
