package answer

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace/finding"
)

// Gaps describes what a listing does not hold; their JSON names are stable.
type Gaps struct {
	Cut    []Cut    `json:"cut,omitempty"`    // entries of which there is more than is listed
	Unread []Unread `json:"unread,omitempty"` // entries that could not be read
}

// Cut represents a limit that was reached.
type Cut struct {
	Entry  string `json:"entry"`
	Listed int    `json:"listed"`
}

// Unread represents an entry, or one key of it, that could not be read.
type Unread struct {
	Entry string           `json:"entry"`
	Key   *finding.JSONKey `json:"key,omitempty"` // the part of the entry that could not be read; absent: all of it
	Why   string           `json:"why"`
}

// String returns what could not be read, and why.
func (u Unread) String() string {
	if u.Key == nil {
		return u.Entry + ": " + u.Why
	}
	return u.Entry + " (" + finding.Key(*u.Key) + "): " + u.Why
}

// Lacks says what a listing does not hold, an entry at a time.
func (g *Gaps) Lacks() (why []string) {
	for _, c := range g.Cut {
		why = append(why, c.Entry+" may have more than is listed here")
	}
	for _, u := range g.Unread {
		why = append(why, "not read: "+finding.Printable(u.String()))
	}
	return why
}

// Pass notes that an entry could not be read, so that the others are listed. What
// ends the whole run is returned.
func (g *Gaps) Pass(ctx context.Context, entry, key string, err error) error {
	if err == nil || ctx.Err() != nil || endsAll(err) {
		return err
	}
	g.Unread = append(g.Unread, Unread{entry, KeyOf(key), inScript.ReplaceAllString(err.Error(), "")})
	return nil
}

// inScript says where in a script a server was when it refused, which tells a user nothing.
var inScript = regexp.MustCompile(` script: [0-9a-f]{40}, on @user_script:\d+\.?`)

// endsAll says whether a failure is not of one entry: the server is away, or refuses
// this login.
func endsAll(err error) bool {
	var failed *keywright.Error
	if !errors.As(err, &failed) {
		return false
	}
	reply, refused := errors.AsType[*kernel.ServerError](failed.Err)
	return failed.Class != keywright.Invalid && !refused || refused && strings.HasPrefix(reply.Error(), "NO")
}

// KeyOf returns a name in JSON, or nothing.
func KeyOf(text string) *finding.JSONKey {
	if text == "" {
		return nil
	}
	key := finding.JSONKey(text)
	return &key
}
