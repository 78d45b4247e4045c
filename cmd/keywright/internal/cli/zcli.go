package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/spf13/cobra"
)

func EntryOrNone(names []string, entry int) string {
	if entry < 0 {
		return ""
	}
	return names[entry]
}

// LastMoment is the last one that JSON has a text for, in Unix milliseconds. A server
// takes expiries that are later: they are given as it.
const LastMoment = 253402300799999

// lsWidth is how much of a key the table shows, the other forms have all of it, and lsPad
// where the next column begins after a shorter key.
const (
	LsWidth = 96
	LsPad   = 48
)

// Indices are 0, 1, 2 … of a list.
func Indices(list []string) []int {
	out := make([]int, len(list))
	for i := range out {
		out[i] = i
	}
	return out
}

// ValueWords say what --values may be; the last two are what it was.
var ValueWords = []string{"none", "sample", "all", "true", "false"}

// Pause waits; an error: ctx has ended.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// WithoutVariables marks flags that must be said each time.
func WithoutVariables(c *cobra.Command, names ...string) {
	for _, name := range names {
		c.Flags().Lookup(name).Annotations = map[string][]string{NoVariable: {"it is said each time"}}
	}
}

// digestOf is a digest of what a declaration says of keys.
func DeclarationDigest(ks *keyspace.Keyspace) string {
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

// Silenced returns the findings of an audit without those that comments silence.
func Silenced(a *App, d *Declaration, found []finding.Finding) []finding.Finding {
	kept := finding.Ignore(finding.WithFixes(d.Moved(found), AllRules()), d.Sources, AllRules(), nil, a.Now())
	// lint's to say
	return slices.DeleteFunc(kept, func(f finding.Finding) bool { return strings.HasPrefix(f.Code, "KW09") })
}
