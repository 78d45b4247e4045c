package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/dumpfile"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb"
)

// The exit codes of every verb.
const (
	ExitClean       = 0
	ExitFindings    = 1
	ExitUsage       = 2
	ExitUnreachable = 3
	ExitRefused     = 4
	ExitPartial     = 5
	ExitInterrupted = 130
)

// Exit represents an error that carries an exit code; without a message it has been
// said already.
type Exit struct {
	Code    int
	Message string
	Hint    string
}

func (e *Exit) Error() string { return e.Message }

func Usage(hint, format string, args ...any) error {
	return &Exit{ExitUsage, fmt.Sprintf(format, args...), hint}
}

// Partial returns the error of a run that did not see, or do, everything.
func Partial(hint, format string, args ...any) error {
	return &Exit{ExitPartial, fmt.Sprintf(format, args...), hint}
}

// Refused returns the error of a run that a server, or the state of things, does not allow.
func Refused(hint, format string, args ...any) error {
	return &Exit{ExitRefused, fmt.Sprintf(format, args...), hint}
}

// Bug describes what cannot happen. It is ours, not the user's.
type Bug struct{ What any }

func (b *Bug) Error() string {
	return fmt.Sprintf("this is a bug in keywright: %v", b.What)
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
	return ExitInterrupted
}

// Finish says what went wrong, once, with a way out, and picks the exit code.
func (a *App) Finish(ctx context.Context, err error) int {
	message, hint, code := Verdict(ctx, err)
	if message != "" {
		fmt.Fprintf(a.Err, "%s %s\n", a.Err.Paint("31", "keywright:"), finding.Printable(a.HideSecrets(message)))
	}
	if hint != "" {
		fmt.Fprintf(a.Err, "hint: %s\n", finding.Printable(a.HideSecrets(hint)))
	}
	return code
}

// OneLine returns what an error says in one line: errors that were joined have one each, and may say the same.
func OneLine(err error) string {
	var out []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}

func Verdict(ctx context.Context, err error) (message, hint string, code int) {
	var e *Exit
	var refused *connect.Error
	var config *connect.ConfigError
	var ours *Bug
	var file *dumpfile.Error
	var damaged *rdb.Error
	var cut *archive.CutError
	switch {
	case err == nil:
		return "", "", ExitClean
	case errors.As(err, &e) && (ctx.Err() == nil || e.Code != ExitUnreachable):
		return e.Message, e.Hint, e.Code
	case ctx.Err() != nil: // what a server did not answer was not waited for
		return "interrupted", "", ExitInterrupted
	case errors.As(err, &refused):
		code = ExitUnreachable
		if refused.Kind == connect.Denied || refused.Kind == connect.Unsettled {
			code = ExitRefused
		}
		return "cannot use the server " + refused.Server + ": " + refused.Err.Error(), refused.Hint, code
	case errors.As(err, &config):
		return config.What, config.Hint, ExitUsage
	case errors.As(err, &file):
		return file.Err.Error(), file.Hint, ExitUsage
	case errors.Is(err, rdb.ErrNotRDB):
		return err.Error(), "an RDB file is what BGSAVE writes, dump.rdb; it may be compressed with gzip or zstd", ExitUsage
	case errors.Is(err, rdb.ErrUnknown):
		return err.Error(), "a newer keywright may know it; a scan of the server itself reads any version", ExitPartial
	case errors.As(err, &cut):
		return err.Error(), "take another copy of the archive: `keywright archive verify` says what of this one is whole",
			ExitPartial
	case errors.As(err, &damaged):
		return err.Error(),
			"let the server write it again (BGSAVE), and copy it when it is done; redis-check-rdb looks at it in detail",
			ExitPartial
	case errors.As(err, &ours):
		return ours.Error(), "please report it with the command that led to it", ExitUsage
	}
	return err.Error(), "", ExitUsage
}

// HideSecrets takes the secrets out of a text that is shown: what a URL has before
// its @ or as a password setting, wherever the URL stood, and the secrets of
// this run even where a mistake tore the URL apart.
func (a *App) HideSecrets(text string) string {
	for _, s := range a.secrets() {
		text = strings.ReplaceAll(text, s, "***")
	}
	for _, v := range a.Variables { // a flag's value may be a secret in the wrong place
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

// schemeless is the URL of a server without its scheme, given where a file is named: user:password@host:6379.
var schemeless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^\s/{}*:]*:[^\s{}*]+@` +
		`(?:localhost|[0-9.]+|\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+:[0-9]+)(?::[0-9]+)?(?:/.*)?$`)
})

// secrets returns the pieces of the passwords this run was given. A piece shorter
// than three bytes gives nothing away and may be part of any word.
func (a *App) secrets() []string {
	var out []string
	urls := []string{a.URL, a.Getenv("KEYWRIGHT_URL"), a.Getenv("REDIS_URL")}
	for _, arg := range a.Args {
		if schemeless().MatchString(arg) {
			urls = append(urls, "://"+arg)
		}
	}
	for _, u := range urls {
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
