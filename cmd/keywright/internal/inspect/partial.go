package inspect

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
)

// partialForm is the version of the form of partial reports. Only merge reads them, of the
// program that wrote them.
const partialForm = 1

// partial describes what an audit has made of some of the keys: what a report is made of. It has
// names of keys and fields, and no values.
type partial struct {
	Form    int            `json:"keywright_partial"`
	Program string         `json:"program"` // whose rules judged the keys
	Asked   string         `json:"asked"`   // a digest of the declaration and of the flags that decide what is kept
	Options partialOptions `json:"options"`
	Parts   []partRead     `json:"parts"`
	Read    summaryRead    `json:"read"`
	Audit   []byte         `json:"audit"` // the state of the audit, compressed
}

// partialOptions holds the flags that decide what is kept.
type partialOptions struct {
	Include  []string `json:"include,omitempty"`
	Exclude  []string `json:"exclude,omitempty"`
	Values   string   `json:"values"`
	Top      int      `json:"top"`
	Examples int      `json:"examples"`
	NoBytes  bool     `json:"no_bytes,omitempty"`
	DB       int      `json:"db"`
}

// partRead represents one part: what was read in one run of audit.
type partRead struct {
	Number  int             `json:"number,omitempty"` // of --part
	Of      int             `json:"of,omitempty"`
	Name    string          `json:"name"` // of the server or the file
	Digest  string          `json:"digest,omitempty"`
	Origins []source.Origin `json:"origins,omitempty"`
}

// summaryRead represents a source.Summary, without its origins.
type summaryRead struct {
	Server     string         `json:"server"`
	Endpoint   string         `json:"endpoint"`
	Shards     int            `json:"shards"`
	Databases  int            `json:"databases"`
	Expected   int64          `json:"expected"`
	Gone       int64          `json:"gone,omitempty"`
	Expired    int64          `json:"expired,omitempty"`
	Estimated  bool           `json:"estimated,omitempty"`
	MaxRepeats int64          `json:"max_repeats,omitempty"`
	Elapsed    time.Duration  `json:"elapsed_ns"`
	Incomplete source.Reasons `json:"incomplete,omitempty"`
	Notes      []string       `json:"notes,omitempty"`
	Sampled    bool           `json:"sampled,omitempty"`
}

// checkPart checks --part, and what goes with -o partial.
func (o *auditing) checkPart() error {
	if o.Output != "partial" {
		if o.part != "" {
			return cli.Usage("add -o partial, and make the report with `keywright merge`",
				"--part is for partial reports: a report of a part does not describe the whole")
		}
		return nil
	}
	if o.Baseline != "" {
		return cli.Usage("write it after `keywright merge`", "--baseline says nothing about a partial report")
	}
	if o.part == "" {
		return nil
	}
	p := &o.Scan.Part
	if n, err := fmt.Sscanf(o.part, "%d/%d", &p.Number, &p.Of); n != 2 || err != nil ||
		fmt.Sprintf("%d/%d", p.Number, p.Of) != o.part || p.Number < 1 || p.Of > maxParts || p.Number > p.Of {
		return cli.Usage(fmt.Sprintf("write --part 3/16: the third of 16, at most %s", terminal.Count(maxParts)),
			"--part %q is no part", o.part)
	}
	return nil
}

// savePart prints what a scan has made of its keys. What is wrong with them is judged when
// the parts are merged.
func savePart(ctx context.Context, a *cli.App, o *auditing, fold *audit.Audit, sum *source.Summary, asked string,
	sampled bool, scanErr error) error {
	if scanErr != nil && len(sum.Incomplete) == 0 {
		sum.Incomplete = source.Reasons{source.Why(source.Failed, "", scanErr)}
	}
	state, err := fold.State()
	if err != nil {
		return err
	}
	one := partRead{Number: o.Scan.Part.Number, Of: o.Scan.Part.Of, Name: sum.Endpoint, Origins: sum.Origins}
	named := func(s source.Origin) bool { return s.ID != "" }
	if !slices.ContainsFunc(sum.Origins, named) { // it is known by what it says
		digest := sha256.Sum256(fmt.Appendf(nil, "%q %q %s", sum.Server, sum.Endpoint, state))
		one.Digest = hex.EncodeToString(digest[:])
	}
	p := &partial{Asked: asked, Parts: []partRead{one},
		Options: partialOptions{o.audit.Include, o.audit.Exclude, o.values, o.top, o.examples, o.NoBytes,
			sources.ChosenDB(a, &o.Sourcing)},
		Read: summaryRead{sum.Server, sum.Endpoint, sum.Shards, sum.Databases, sum.Expected, sum.Gone, sum.Expired,
			sum.Estimated, sum.MaxRepeats, sum.Elapsed, sum.Incomplete, sum.Notes, sampled}}
	if err := writePartial(a, p, state); err != nil {
		return err
	}
	switch {
	case errors.Is(scanErr, context.Canceled) || ctx.Err() != nil:
		return &cli.Exit{Code: cli.ExitInterrupted, Message: "interrupted: the part has what was seen until then", Hint: ""}
	case scanErr != nil:
		return scanErr
	case len(sum.Incomplete) > 0:
		return cli.Partial(o.Again(sum.Incomplete), "the part is incomplete: %s", sum.Incomplete)
	}
	return nil
}

func writePartial(a *cli.App, p *partial, state []byte) error {
	var packed, text bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(state); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	p.Form, p.Program, p.Audit = partialForm, program(), packed.Bytes()
	if err := finding.WriteJSON(&text, p, ""); err != nil {
		return err
	}
	if tooLarge(state) || tooLarge(text.Bytes()) { // which readPartial refuses
		return cli.Usage("write fewer names with --top and --examples, or more parts",
			"the partial report has %s, and %s are read", terminal.Bytes(int64(max(len(state), text.Len()))),
			terminal.Bytes(maxCheckpoint))
	}
	_, err := a.Out.Raw().Write(text.Bytes())
	return err
}

// readPartial reads a partial report and the state in it.
func readPartial(path string, in io.Reader) (*partial, []byte, error) {
	again := "write it again with `keywright audit -o partial`"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxCheckpoint+1))
	if err != nil {
		return nil, nil, err
	}
	var p partial
	switch {
	case tooLarge(text):
		return nil, nil, cli.Usage(again, "%s is no partial report: it is too large", path)
	case json.Unmarshal(text, &p) != nil || p.Form == 0:
		return nil, nil, cli.Usage(again, "%s is no partial report, or not all of one", path)
	case p.Form != partialForm || p.Program != program():
		return nil, nil, cli.Usage("merge with the version that wrote it, or write it again with this one",
			"%s is of another version of keywright (%s)", path, finding.Printable(p.Program))
	}
	z, err := gzip.NewReader(bytes.NewReader(p.Audit))
	if err != nil {
		return nil, nil, cli.Usage(again, "%s is damaged: %v", path, err)
	}
	state, err := io.ReadAll(io.LimitReader(z, maxCheckpoint+1))
	if err != nil || tooLarge(state) {
		return nil, nil, cli.Usage(again, "%s is damaged, or too large", path)
	}
	return &p, state, nil
}
