package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/kernel"
	"github.com/spf13/cobra"
)

// ServerFlags are the flags of the verbs that need a server.
func (a *App) ServerFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&a.URL, "url", "u", "",
		"the server (default: $KEYWRIGHT_URL, $REDIS_URL, "+connect.DefaultURL+"); a password belongs into the environment")
	f.StringVar(&a.Connect.CAFile, "tls-ca", "", "PEM file with the CA of the server's certificate")
	f.StringVar(&a.Connect.CertFile, "tls-cert", "", "PEM file with the client certificate")
	f.StringVar(&a.Connect.KeyFile, "tls-key", "", "PEM file with the key of the client certificate")
	f.StringVar(&a.Connect.ServerName, "tls-server-name", "",
		"the name in the server's certificate, if it is not the host's")
	f.BoolVar(&a.Connect.Insecure, "tls-insecure", false, "do not verify the server's certificate")
	f.DurationVar(&a.Connect.Timeout, "timeout", 5*time.Second, "how long to wait for the server, each time")
}

// Server makes the Config from flags and environment.
func (a *App) Server() (connect.Config, error) {
	o := a.Connect
	o.URL, o.Getenv = a.URL, a.Getenv
	if connect.HasPassword(a.URL) {
		a.Say("warning: a password in the arguments is seen by every user that can list processes; put the URL into " +
			"KEYWRIGHT_URL, or the password into REDISCLI_AUTH")
	}
	if o.Timeout <= 0 {
		return connect.Config{}, Usage("write --timeout 5s", "--timeout must be above zero")
	}
	if o.Insecure {
		a.Say("warning: the server's certificate is not verified (--tls-insecure): anything between here and there " +
			"can pose as it")
	}
	config, err := connect.New(o)
	if err == nil {
		a.detail("server: %s", config)
	}
	return config, err
}

// ClientOptions returns those of a client for the server of the flags.
func (a *App) ClientOptions() keywright.Options {
	o := a.Connect
	return keywright.Options{Logger: Silent, CAFile: o.CAFile, CertFile: o.CertFile, KeyFile: o.KeyFile,
		ServerName: o.ServerName, Insecure: o.Insecure, Timeout: o.Timeout, NoCache: true, Getenv: a.Getenv}
}

// Client opens a client for the server of the flags.
func (a *App) Client(ctx context.Context) (*keywright.Client, error) {
	c, err := keywright.Open(ctx, a.URL, a.ClientOptions())
	return c, ServerFailure(err)
}

// ServerFailure gives an error of the client its exit code.
func ServerFailure(err error) error {
	var failed *keywright.Error
	if !errors.As(err, &failed) {
		return err
	}
	code := ExitUnreachable
	if reply, ok := errors.AsType[*kernel.ServerError](failed.Err); ok && !kernel.Passes(reply) {
		code = ExitRefused
		if strings.HasPrefix(reply.Error(), "ERR unknown") {
			return &Exit{code, "the server has no ACL users", "ACLs came with Redis 6.0"}
		}
		if connect.OnlyDatabase0(reply) {
			return ErrDatabase0
		}
		if strings.Contains(reply.Error(), "DB index is out of range") {
			return Usage("name another one at the end of the URL; CONFIG GET databases says how many there are",
				"the server has no database of that number")
		}
	}
	hint := failed.Hint
	if _, ok := errors.AsType[net.Error](failed.Err); ok { // it was not reached: as commands say it that only read
		if e, ok := errors.AsType[*connect.Error](connect.Explain("", failed.Err)); ok {
			hint = e.Hint
		}
	}
	return &Exit{code, "cannot use the server: " + failed.Err.Error(), hint}
}

// ErrDatabase0 is returned where keys would go to a database that a cluster does not have.
var ErrDatabase0 = Usage("give the keys of other databases to that one, each at a time: --to-db 0",
	"a cluster has database 0 only")

// WithDatabase returns the URL of a server with another database.
func WithDatabase(text string, getenv func(string) string, db int) (string, error) {
	for _, name := range []string{"KEYWRIGHT_URL", "REDIS_URL"} {
		if text == "" {
			text = getenv(name)
		}
	}
	if text == "" {
		text = connect.DefaultURL
	}
	place, settings, _ := strings.Cut(text, "?")
	q, err := url.ParseQuery(settings)
	if err != nil {
		return "", Usage("see `keywright doctor --help`", "the URL of the server cannot be read")
	}
	q.Set("db", strconv.Itoa(max(db, 0))) // it counts more than the database of the path
	return place + "?" + q.Encode(), nil
}

// Silent is the logger of the clients of commands, which say themselves what has failed.
var Silent = slog.New(slog.DiscardHandler)

// Patience says how long a run waits for a server that does not answer, and shows that it does.
func Patience(bar *terminal.Progress, config connect.Config) wait.Waiting {
	told := func(silent time.Duration, last error) {
		text := "waiting for " + config.String() + ", which has not answered for " + terminal.Duration(silent)
		if last != nil {
			text += ": " + last.Error()
		}
		bar.Say(text + "; the run ends after " + terminal.Duration(config.Patience()))
	}
	return wait.Waiting{Server: config.String(), Patience: config.Patience(), OnWait: told}
}

// Pause waits. An error says that ctx has ended.
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
