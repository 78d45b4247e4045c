package serving

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
)

// checkListen refuses an address that other machines reach.
func (o *Serving) checkListen() error {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return cli.Usage("write --listen 127.0.0.1:7380", "--listen %q is no address with a port", o.listen)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	switch {
	case o.Tokens == "" && o.userHeader == "":
		return cli.Usage(
			"write --tokens FILE (`keywright serve token` makes one), or --listen 127.0.0.1:7380 and ssh -L 7380:127.0.0.1:7380",
			"--listen %s lets other machines read the names of keys, and no --tokens says which users may", o.listen)
	case o.cert == "" && !o.plain:
		return cli.Usage("write --https-cert and --https-key, or --proxy-has-tls where a proxy has the TLS",
			"--listen %s would send tokens and the names of keys over the network in the clear", o.listen)
	}
	return nil
}

// checkProxy checks what is said of a proxy, and of plans.
func (o *Serving) checkProxy() error {
	switch {
	case o.userHeader == "" && len(o.operators) > 0:
		return cli.Usage("name it with --proxy-user-header",
			"--proxy-operators is for a proxy that names the user in a header")
	case o.userHeader != "" && len(o.proxies) == 0:
		return cli.Usage("name the proxy's address with --proxy-from", "anyone could send the header %s", o.userHeader)
	case !o.allow && !o.janitor && o.pace != 0:
		return cli.Usage("add --allow-apply or --janitor, or leave it out",
			"--apply-rate is for plans, and none can be applied")
	case o.pace < 0:
		return cli.Usage("write a positive number, or leave it out", "--apply-rate cannot be negative")
	case o.allow && o.IsFile():
		return cli.Usage("leave out --allow-apply", "a snapshot file is shown: there is nothing to change")
	}
	_, err := o.proxy()
	return err
}

// proxy returns the proxy, which may know its users; nil: there is none.
func (o *Serving) proxy() (*auth.Proxy, error) {
	if o.userHeader == "" && len(o.proxies) == 0 {
		return nil, nil
	}
	p := &auth.Proxy{Header: o.userHeader, Operators: o.operators}
	for _, text := range o.proxies {
		n, err := netip.ParsePrefix(text)
		if ip, bare := netip.ParseAddr(text); err != nil && bare == nil {
			n, err = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
		}
		if err != nil {
			return nil, cli.Usage("write 10.0.0.7 or 10.0.0.0/24", "--proxy-from %q is no address", text)
		}
		p.From = append(p.From, n)
	}
	return p, nil
}

// ReadTokens reads the file of --tokens.
func (o *Serving) ReadTokens() ([]auth.Token, error) {
	if (o.cert == "") != (o.key == "") {
		return nil, cli.Usage("write both", "--https-cert and --https-key go together")
	}
	if o.Tokens == "" {
		return nil, nil
	}
	f, err := os.Open(o.Tokens)
	if err != nil {
		return nil, cli.Usage("`keywright serve token` makes one", "the tokens cannot be read: %v", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, cli.Usage("chmod go-w "+cli.ShellWord(o.Tokens), "%s: other users of this machine may write into it",
			o.Tokens)
	}
	tokens, err := auth.ReadTokens(f)
	if err != nil {
		return nil, cli.Usage("`keywright serve token` writes its lines", "%s: %v", o.Tokens, err)
	}
	return tokens, nil
}

// serveTokenCommand makes tokens.
func serveTokenCommand(a *cli.App) *cobra.Command {
	var role, lasts string
	c := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for a user of serve",
		Long: `Makes a token for a user. The token is printed to standard error, once; to standard
output goes the line for the file of --tokens, which has a digest of it only. With --for it
ends after that time: it is refused then, with the reason.`,
		Example: `  keywright serve token alice >> tokens
  keywright serve token deploy --role operator --for 30d >> tokens`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" || strings.ContainsFunc(args[0],
				func(r rune) bool { return r == ' ' || r == '#' || !unicode.IsPrint(r) }) {
				return cli.Usage("as in `keywright serve token alice`", "%s takes the name of a user, without spaces",
					c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := cli.OneOf("role", role, string(auth.Viewer), string(auth.Operator)); err != nil {
				return err
			}
			secret := rand.Text() + rand.Text()
			t := auth.Token{User: auth.User{Name: args[0], Role: auth.Role(role)}, Digest: sha256.Sum256([]byte(secret))}
			if lasts != "" {
				d, err := keyspace.ParseDuration(lasts)
				if err != nil || d < time.Second {
					return cli.Usage("write --for 30d", "--for %s is no time that a token can last", finding.Printable(lasts))
				}
				t.Ends = a.Now().Add(d)
			}
			a.Print("%s", t.Line())
			fmt.Fprintf(a.Err, "the token of %s, which is not shown again: %s\n", finding.Printable(args[0]), secret)
			return nil
		},
	}
	c.Flags().StringVar(&role, "role", string(auth.Viewer),
		"viewer (looks) or operator (may also apply plans, where that is allowed)")
	c.Flags().StringVar(&lasts, "for", "", "how long it is good, as in 30d or 12h; without it, it has no end")
	cli.Choices(c, "role", string(auth.Viewer), string(auth.Operator))
	return c
}

// sayEnded tells which tokens of the file are good no longer.
func sayEnded(a *cli.App, o *Serving, tokens []auth.Token) {
	for _, t := range tokens {
		if t.Ended(a.Now()) {
			a.Say("warning: a token of %s in %s has ended on %s: it is refused", finding.Printable(t.Name),
				finding.Printable(o.Tokens), t.Ends.Format(time.RFC3339))
		}
	}
}

// listener reads what says who may look, and listens: what is wrong with either is reported
// before a file is made.
func (o *Serving) listener() (guard auth.Guard, l net.Listener, err error) {
	host, _, _ := net.SplitHostPort(o.listen)
	guard = auth.Guard{Hosts: append(slices.Clone(o.hosts), host), TLS: o.cert != "",
		Private: o.plain, AllowApply: o.allow, ShowValues: o.show}
	if guard.Tokens, err = o.ReadTokens(); err != nil {
		return guard, nil, err
	}
	if guard.Proxy, err = o.proxy(); err != nil {
		return guard, nil, err
	}
	if o.cert != "" {
		if _, err := tls.LoadX509KeyPair(o.cert, o.key); err != nil {
			return guard, nil, cli.Usage("name PEM files that belong together",
				"--https-cert and --https-key cannot be used: %v", err)
		}
	}
	if l, err = net.Listen("tcp", o.listen); err != nil {
		return guard, nil, cli.Usage("name another port with --listen", "%v", err)
	}
	limited := &auth.Connections{Listener: l, Most: min(descriptors()/2, mostConnections)}
	if guard.Proxy != nil {
		limited.Proxies = guard.Proxy.From
	}
	return guard, limited, nil
}

// Bounds of connections: half of the descriptors are for the servers that are watched, and for files.
const (
	mostConnections  = 1000
	usualDescriptors = 1024
)

// checkTime bounds a check.
const checkTime = 4 * time.Second

// serveCheckCommand asks a running serve how it is.
func serveCheckCommand(a *cli.App) *cobra.Command {
	var ready bool
	c := &cobra.Command{
		Use:   "check [address]",
		Short: "Ask a running serve whether it is well",
		Long: `Asks the keywright serve of an address (http://127.0.0.1:7380) whether it runs, or with
--ready whether it has something to show. It is for health checks of containers, where
there is no other program.

Exit codes: 0 it is well, 2 usage, 3 it does not answer, or says that it is not.`,
		Example: `  keywright serve check
  keywright serve check http://127.0.0.1:9000 --ready`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage("as in http://127.0.0.1:7380", "%s takes one address", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			base := strings.TrimRight(append(args, "http://127.0.0.1:7380")[0], "/")
			if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return cli.Usage("as in http://127.0.0.1:7380", "this is no address")
			}
			path := auth.HealthPath
			if ready {
				path = auth.ReadyPath
			}
			return serveCheck(c.Context(), a, base+path)
		},
	}
	c.Flags().BoolVar(&ready, "ready", false, "whether it has something to show")
	return c
}

func serveCheck(ctx context.Context, a *cli.App, address string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return cli.Usage("as in http://127.0.0.1:7380", "the address cannot be used")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return &cli.Exit{Code: cli.ExitUnreachable, Message: "it does not answer: " + err.Error(),
			Hint: "is keywright serve running?"}
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if answer.StatusCode != http.StatusOK {
		return &cli.Exit{Code: cli.ExitUnreachable,
			Message: "it says: " + finding.Printable(strings.TrimSpace(string(text))), Hint: ""}
	}
	a.Print("%s", finding.Printable(strings.TrimSpace(string(text))))
	return nil
}

// tokensEvery says how often the file of --tokens is looked at.
const tokensEvery = 2 * time.Second

// watchTokens reads the file of --tokens again when it changes, until ctx ends: a token that is
// taken out is good no longer. Where it cannot be read, the tokens of before hold, and that is reported.
func watchTokens(ctx context.Context, a *cli.App, o *Serving, s *serve.Server) {
	if o.Tokens == "" {
		return
	}
	tick := time.NewTicker(tokensEvery)
	defer tick.Stop()
	var was os.FileInfo
	for said := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		is, err := os.Stat(o.Tokens)
		if err == nil && was != nil && os.SameFile(was, is) && was.Size() == is.Size() &&
			was.ModTime().Equal(is.ModTime()) {
			continue
		}
		tokens, err := o.ReadTokens()
		if err != nil {
			if text := finding.Printable(err.Error()); text != said {
				said = text
				a.Say("warning: the tokens of before hold: %s", text)
			}
			was = nil
			continue
		}
		if was != nil {
			sayEnded(a, o, tokens)
		}
		s.Admit(tokens)
		said, was = "", is
	}
}
