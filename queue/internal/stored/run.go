package stored

import (
	"errors"
	"strconv"
	"strings"
)

// ErrNewer reports a form that only a newer program can read.
var ErrNewer = errors.New("a newer program has written it")

// Run describes a job that has begun.
type Run struct {
	Attempt  int64
	Crashes  int64
	Owner    string // "" while it waits
	Progress string
	Error    string // of its last attempt
}

// ReadRun reads what is known of a job that has begun, as known.lua writes it:
// "owner fence attempt crashes cancelled doubt r1", a line with its last error, and
// how far it is. One that has not begun has no text. ErrNewer if it is in a newer
// form.
func ReadRun(text string) (s Run, err error) {
	line, rest, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) != 7 || f[6] != "r1" {
		if len(f) > 0 && strings.HasPrefix(f[len(f)-1], "r") && f[len(f)-1] != "r1" {
			return s, ErrNewer
		}
		return s, nil
	}
	s.Error, s.Progress, _ = strings.Cut(rest, "\n")
	if f[0] != NoName {
		s.Owner = strings.TrimRight(f[0], padding)
	}
	s.Attempt, _ = strconv.ParseInt(f[2], 10, 64)
	s.Crashes, _ = strconv.ParseInt(f[3], 10, 64)
	return s, nil
}

const padding = "."

// Pad makes a token longer than hash-max-listpack-value, whose default is 64: so
// the hash of what runs is a table, and no listpack that is searched from its
// front.
func Pad(token string) string { return token + strings.Repeat(padding, max(1, 65-len(token))) }
