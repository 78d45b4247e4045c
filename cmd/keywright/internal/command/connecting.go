package command

import (
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/kernel"
	"github.com/spf13/cobra"
)

// serverFlags are the flags of the verbs that need a server.
func (a *app) serverFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&a.url, "url", "u", "",
		"the server (default: $KEYWRIGHT_URL, $REDIS_URL, "+connect.DefaultURL+"); a password belongs into the environment")
	f.StringVar(&a.connect.CAFile, "tls-ca", "", "PEM file with the CA of the server's certificate")
	f.StringVar(&a.connect.CertFile, "tls-cert", "", "PEM file with the client certificate")
	f.StringVar(&a.connect.KeyFile, "tls-key", "", "PEM file with the key of the client certificate")
	f.StringVar(&a.connect.ServerName, "tls-server-name", "",
		"the name in the server's certificate, if it is not the host's")
	f.BoolVar(&a.connect.Insecure, "tls-insecure", false, "do not verify the server's certificate")
	f.DurationVar(&a.connect.Timeout, "timeout", 5*time.Second, "how long to wait for the server, each time")
}

// server makes the Config from flags and environment.
func (a *app) server() (connect.Config, error) {
	o := a.connect
	o.URL, o.Getenv = a.url, a.Getenv
	if connect.HasPassword(a.url) {
		a.say("warning: a password in the arguments is seen by every user that can list processes; put the URL into " +
			"KEYWRIGHT_URL, or the password into REDISCLI_AUTH")
	}
	if o.Timeout <= 0 {
		return connect.Config{}, usage("write --timeout 5s", "--timeout must be above zero")
	}
	if o.Insecure {
		a.say("warning: the server's certificate is not verified (--tls-insecure): anything between here and there " +
			"can pose as it")
	}
	config, err := connect.New(o)
	if err == nil {
		a.detail("server: %s", config)
	}
	return config, err
}

// aclFailure gives an error of the client its exit code.
func aclFailure(err error) error {
	var failed *keywright.Error
	if !errors.As(err, &failed) {
		return err
	}
	code := exitUnreachable
	if reply, ok := errors.AsType[*kernel.ServerError](failed.Err); ok {
		code = exitRefused
		if strings.HasPrefix(reply.Error(), "ERR unknown") {
			return &exit{code, "the server has no ACL users", "ACLs came with Redis 6.0"}
		}
		if connect.OnlyDatabase0(reply) {
			return errDatabase0
		}
		if strings.Contains(reply.Error(), "DB index is out of range") {
			return usage("name another one at the end of the URL; CONFIG GET databases says how many there are",
				"the server has no database of that number")
		}
	}
	return &exit{code, "cannot use the server: " + failed.Err.Error(), failed.Hint}
}

// errDatabase0 is returned where keys would go to a database that a cluster does not have.
var errDatabase0 = usage("give the keys of other databases to that one, each at a time: --to-db 0",
	"a cluster has database 0 only")

// withDatabase returns the URL of a server with another database.
func withDatabase(text string, getenv func(string) string, db int) (string, error) {
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
		return "", usage("see `keywright doctor --help`", "the URL of the server cannot be read")
	}
	q.Set("db", strconv.Itoa(max(db, 0))) // it counts more than the database of the path
	return place + "?" + q.Encode(), nil
}

// silent is the logger of the clients of commands, which say themselves what has failed.
var silent = slog.New(slog.DiscardHandler)

// patience says how long a run waits for a server that does not answer, and shows that it does.
func patience(bar *terminal.Progress, config connect.Config) apply.Waiting {
	told := func(silent time.Duration, last error) {
		text := "waiting for " + config.String() + ", which has not answered for " + terminal.Duration(silent)
		if last != nil {
			text += ": " + last.Error()
		}
		bar.Say(text + "; the run ends after " + terminal.Duration(config.Patience()))
	}
	return apply.Waiting{Server: config.String(), Patience: config.Patience(), Told: told}
}
