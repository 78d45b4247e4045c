package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/dumpfile"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/source/rdb"
)

// The exit codes of every verb.
const (
	exitClean       = 0
	exitFindings    = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitRefused     = 4
	exitPartial     = 5
	exitInterrupted = 130
)

// exit represents an error that carries an exit code; without a message it has been
// said already.
type exit struct {
	code    int
	message string
	hint    string
}

func (e *exit) Error() string { return e.message }

func usage(hint, format string, args ...any) error {
	return &exit{exitUsage, fmt.Sprintf(format, args...), hint}
}

// bug describes what cannot happen. It is ours, not the user's.
type bug struct{ what any }

func (b *bug) Error() string {
	return fmt.Sprintf("this is a bug in keywright: %v", b.what)
}

// Interrupted says that the program ends before its command has, and gives the exit
// code. It does not wait for a reader of w.
func Interrupted(w io.Writer) int {
	said := make(chan struct{})
	go func() {
		defer close(said)
		fmt.Fprintln(w, "keywright: interrupted")
	}()
	select {
	case <-said:
	case <-time.After(100 * time.Millisecond):
	}
	return exitInterrupted
}

// finish says what went wrong, once, with a way out, and picks the exit code.
func (a *app) finish(ctx context.Context, err error) int {
	message, hint, code := judge(ctx, err)
	if message != "" {
		fmt.Fprintf(a.err, "%s %s\n", a.err.Paint("31", "keywright:"), finding.Printable(a.discreet(message)))
	}
	if hint != "" {
		fmt.Fprintf(a.err, "hint: %s\n", finding.Printable(a.discreet(hint)))
	}
	return code
}

func judge(ctx context.Context, err error) (message, hint string, code int) {
	var e *exit
	var refused *connect.Error
	var config *connect.ConfigError
	var ours *bug
	var file *dumpfile.Error
	var damaged *rdb.Error
	switch {
	case err == nil:
		return "", "", exitClean
	case errors.As(err, &e) && (ctx.Err() == nil || e.code != exitUnreachable):
		return e.message, e.hint, e.code
	case ctx.Err() != nil: // what a server did not answer was not waited for
		return "interrupted", "", exitInterrupted
	case errors.As(err, &refused):
		code = exitUnreachable
		if refused.Kind == connect.Denied || refused.Kind == connect.Unsettled {
			code = exitRefused
		}
		return "cannot use the server " + refused.Server + ": " + refused.Err.Error(), refused.Hint, code
	case errors.As(err, &config):
		return config.What, config.Hint, exitUsage
	case errors.As(err, &file):
		return file.Err.Error(), file.Hint, exitUsage
	case errors.Is(err, rdb.ErrNotRDB):
		return err.Error(), "an RDB file is what BGSAVE writes, dump.rdb; it may be compressed with gzip or zstd", exitUsage
	case errors.Is(err, rdb.ErrUnknown):
		return err.Error(), "a newer keywright may know it; a scan of the server itself reads any version", exitPartial
	case errors.As(err, &damaged):
		return err.Error(),
			"let the server write it again (BGSAVE), and copy it when it is done; redis-check-rdb looks at it in detail",
			exitPartial
	case errors.As(err, &ours):
		return ours.Error(), "please report it with the command that led to it", exitUsage
	}
	return err.Error(), "", exitUsage
}

// discreet takes the secrets out of a text that is shown: what a URL has before
// its @ or as a password setting, wherever the URL stood, and the secrets of
// this run even where a mistake tore the URL apart.
func (a *app) discreet(text string) string {
	for _, s := range a.secrets() {
		text = strings.ReplaceAll(text, s, "***")
	}
	for _, v := range a.variables { // a flag's value may be a secret in the wrong place
		text = strings.ReplaceAll(text, strconv.Quote(v[1]), "the value of "+v[0])
		if len(v[1]) >= shortValue {
			text = strings.ReplaceAll(text, v[1], "the value of "+v[0])
		}
	}
	var out strings.Builder
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		i += len("://")
		end := i + endOfURL(text[i:])
		out.WriteString(text[:i] + withoutLogin(text[i:end]))
		text = text[end:]
	}
}

// shortValue is the length from which the value of a variable is taken out of
// messages wherever it is; a shorter one may be part of any word.
const shortValue = 8

func endOfURL(text string) int {
	if i := strings.IndexAny(text, " \t\n\"'`"); i >= 0 {
		return i
	}
	return len(text)
}

func withoutLogin(url string) string {
	if at := strings.LastIndexByte(url, '@'); at >= 0 {
		url = "***" + url[at:]
	}
	if before, rest, ok := strings.Cut(url, "password="); ok {
		_, rest, more := strings.Cut(rest, "&")
		url = before + "password=***"
		if more {
			url += "&" + rest
		}
	}
	return url
}

// secrets returns the pieces of the passwords this run was given. A piece shorter
// than three bytes gives nothing away and may be part of any word.
func (a *app) secrets() []string {
	var out []string
	for _, u := range []string{a.url, a.Getenv("KEYWRIGHT_URL"), a.Getenv("REDIS_URL")} {
		at := strings.LastIndexByte(u, '@')
		if at < 0 {
			continue
		}
		_, login, _ := strings.Cut(u[:at], "://")
		_, password, _ := strings.Cut(login, ":")
		for _, piece := range strings.FieldsFunc(password, func(r rune) bool { return strings.ContainsRune("?/#&:,", r) }) {
			if len(piece) > 2 {
				out = append(out, piece)
			}
		}
	}
	return out
}
