package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/spf13/cobra"
)

func entryOrNone(names []string, entry int) string {
	if entry < 0 {
		return ""
	}
	return names[entry]
}

// lastMoment is the last one that JSON has a text for, in Unix milliseconds. A server
// takes expiries that are later: they are given as it.
const lastMoment = 253402300799999

// lsWidth is how much of a key the table shows, the other forms have all of it, and lsPad
// where the next column begins after a shorter key.
const (
	lsWidth = 96
	lsPad   = 48
)

// indices are 0, 1, 2 … of a list.
func indices(list []string) []int {
	out := make([]int, len(list))
	for i := range out {
		out[i] = i
	}
	return out
}

// valueWords say what --values may be; the last two are what it was.
var valueWords = []string{"none", "sample", "all", "true", "false"}

// pause waits; an error: ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// withoutVariables marks flags that must be said each time.
func withoutVariables(c *cobra.Command, names ...string) {
	for _, name := range names {
		c.Flags().Lookup(name).Annotations = map[string][]string{cli.NoVariable: {"it is said each time"}}
	}
}

// digestOf is a digest of what a declaration says of keys.
func declarationDigest(ks *keyspace.Keyspace) string {
	if ks == nil || len(ks.Entries) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, e := range ks.Entries {
		fmt.Fprintf(sum, "%q %q %v\n", e.Name, e.Construct, e.Type)
		for _, k := range e.Keys {
			fmt.Fprintf(sum, "%q %q\n", k.Role, k.Pattern.String())
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// silenced returns the findings of an audit without those that comments silence.
func silenced(a *cli.App, d *cli.Declaration, found []finding.Finding) []finding.Finding {
	kept := finding.Ignore(finding.WithFixes(d.Moved(found), cli.AllRules()), d.Sources, cli.AllRules(), nil, a.Now())
	// lint's to say
	return slices.DeleteFunc(kept, func(f finding.Finding) bool { return strings.HasPrefix(f.Code, "KW09") })
}
