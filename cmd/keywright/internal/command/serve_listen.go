package command

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

	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/spf13/cobra"
)

// checkListen refuses an address that other machines reach.
func (o *serving) checkListen() error {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return usage("write --listen 127.0.0.1:7380", "--listen %q is no address with a port", o.listen)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	switch {
	case o.tokens == "" && o.userHeader == "":
		return usage(
			"write --tokens FILE (`keywright serve token` makes one), or --listen 127.0.0.1:7380 and ssh -L 7380:127.0.0.1:7380",
			"--listen %s lets other machines read the names of keys, and no --tokens says which users may", o.listen)
	case o.cert == "" && !o.plain:
		return usage("write --https-cert and --https-key, or --proxy-has-tls where a proxy has the TLS",
			"--listen %s would send tokens and the names of keys over the network in the clear", o.listen)
	}
	return nil
}

// checkProxy checks what is said of a proxy, and of plans.
func (o *serving) checkProxy() error {
	switch {
	case o.userHeader == "" && len(o.operators) > 0:
		return usage("name it with --proxy-user-header", "--proxy-operators is for a proxy that names the user in a header")
	case o.userHeader != "" && len(o.proxies) == 0:
		return usage("name the proxy's address with --proxy-from", "anyone could send the header %s", o.userHeader)
	case !o.allow && !o.janitor && o.pace != 0:
		return usage("add --allow-apply or --janitor, or leave it out", "--apply-rate is for plans, and none can be applied")
	case o.pace < 0:
		return usage("write a positive number, or leave it out", "--apply-rate cannot be negative")
	case o.allow && o.isFile():
		return usage("leave out --allow-apply", "a snapshot file is shown: there is nothing to change")
	}
	_, err := o.proxy()
	return err
}

// proxy returns the proxy, which may know its users; nil: there is none.
func (o *serving) proxy() (*serve.Proxy, error) {
	if o.userHeader == "" && len(o.proxies) == 0 {
		return nil, nil
	}
	p := &serve.Proxy{Header: o.userHeader, Operators: o.operators}
	for _, text := range o.proxies {
		n, err := netip.ParsePrefix(text)
		if ip, bare := netip.ParseAddr(text); err != nil && bare == nil {
			n, err = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
		}
		if err != nil {
			return nil, usage("write 10.0.0.7 or 10.0.0.0/24", "--proxy-from %q is no address", text)
		}
		p.From = append(p.From, n)
	}
	return p, nil
}

// readTokens reads the file of --tokens.
func (o *serving) readTokens() ([]serve.Token, error) {
	if (o.cert == "") != (o.key == "") {
		return nil, usage("write both", "--https-cert and --https-key go together")
	}
	if o.tokens == "" {
		return nil, nil
	}
	f, err := os.Open(o.tokens)
	if err != nil {
		return nil, usage("`keywright serve token` makes one", "the tokens cannot be read: %v", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, usage("chmod go-w "+shellWord(o.tokens), "%s: other users of this machine may write into it", o.tokens)
	}
	tokens, err := serve.ReadTokens(f)
	if err != nil {
		return nil, usage("`keywright serve token` writes its lines", "%s: %v", o.tokens, err)
	}
	return tokens, nil
}

// serveTokenCommand makes tokens.
func (a *app) serveTokenCommand() *cobra.Command {
	var role, lasts string
	c := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for a user of serve",
		Long: `Makes a token for a user. The token is printed to standard error, once; to standard
output goes the line for the file of --tokens, which has a digest of it only. With --for it
ends after that time: it is refused then, and told why.`,
		Example: `  keywright serve token alice >> tokens
  keywright serve token deploy --role operator --for 30d >> tokens`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" || strings.ContainsFunc(args[0],
				func(r rune) bool { return r == ' ' || r == '#' || !unicode.IsPrint(r) }) {
				return usage("as in `keywright serve token alice`", "%s takes the name of a user, without spaces", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := oneOf("role", role, string(serve.Viewer), string(serve.Operator)); err != nil {
				return err
			}
			secret := rand.Text() + rand.Text()
			t := serve.Token{User: serve.User{Name: args[0], Role: serve.Role(role)}, Digest: sha256.Sum256([]byte(secret))}
			if lasts != "" {
				d, err := keyspace.ParseDuration(lasts)
				if err != nil || d < time.Second {
					return usage("write --for 30d", "--for %s is no time that a token can last", finding.Printable(lasts))
				}
				t.Ends = a.now().Add(d)
			}
			a.tell("%s", t.Line())
			fmt.Fprintf(a.err, "the token of %s, which is not shown again: %s\n", finding.Printable(args[0]), secret)
			return nil
		},
	}
	c.Flags().StringVar(&role, "role", string(serve.Viewer),
		"viewer (looks) or operator (may also apply plans, where that is allowed)")
	c.Flags().StringVar(&lasts, "for", "", "how long it is good, as in 30d or 12h; without it, it has no end")
	choices(c, "role", string(serve.Viewer), string(serve.Operator))
	return c
}

// sayEnded tells which tokens of the file are good no longer.
func (a *app) sayEnded(o *serving, tokens []serve.Token) {
	for _, t := range tokens {
		if t.Ended(a.now()) {
			a.say("warning: a token of %s in %s has ended on %s: it is refused", finding.Printable(t.Name),
				finding.Printable(o.tokens), t.Ends.Format(time.RFC3339))
		}
	}
}

// listener reads what says who may look, and listens: what is wrong with either is told
// before a file is made.
func (o *serving) listener() (guard serve.Guard, l net.Listener, err error) {
	host, _, _ := net.SplitHostPort(o.listen)
	guard = serve.Guard{Hosts: append(slices.Clone(o.hosts), host), TLS: o.cert != "",
		Private: o.plain, AllowApply: o.allow, ShowValues: o.show}
	if guard.Tokens, err = o.readTokens(); err != nil {
		return guard, nil, err
	}
	if guard.Proxy, err = o.proxy(); err != nil {
		return guard, nil, err
	}
	if o.cert != "" {
		if _, err := tls.LoadX509KeyPair(o.cert, o.key); err != nil {
			return guard, nil, usage("name PEM files that belong together",
				"--https-cert and --https-key cannot be used: %v", err)
		}
	}
	if l, err = net.Listen("tcp", o.listen); err != nil {
		return guard, nil, usage("name another port with --listen", "%v", err)
	}
	limited := &serve.Connections{Listener: l, Most: min(descriptors()/2, mostConnections)}
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
func (a *app) serveCheckCommand() *cobra.Command {
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
				return usage("as in http://127.0.0.1:7380", "%s takes one address", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			base := strings.TrimRight(append(args, "http://127.0.0.1:7380")[0], "/")
			if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return usage("as in http://127.0.0.1:7380", "this is no address")
			}
			path := serve.HealthPath
			if ready {
				path = serve.ReadyPath
			}
			return a.serveCheck(c.Context(), base+path)
		},
	}
	c.Flags().BoolVar(&ready, "ready", false, "whether it has something to show")
	return c
}

func (a *app) serveCheck(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return usage("as in http://127.0.0.1:7380", "the address cannot be used")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return &exit{exitUnreachable, "it does not answer: " + err.Error(), "is keywright serve running?"}
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if answer.StatusCode != http.StatusOK {
		return &exit{exitUnreachable, "it says: " + finding.Printable(strings.TrimSpace(string(text))), ""}
	}
	a.tell("%s", finding.Printable(strings.TrimSpace(string(text))))
	return nil
}
