// Package connect is how keywright reaches a server, once for the whole
// product: URLs of single servers, clusters and sentinels, TLS, login, timeouts,
// and errors that say what to do. What it gives is a logged-in wire.Conn.
//
// It is not a client and keeps no pool; it does not know which commands follow.
// Secrets never leave a Config: it prints without them, and no error holds one.
//
// API: may change until 1.0.
package connect

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultURL says where keywright looks when no one says otherwise.
const DefaultURL = "redis://127.0.0.1:6379"

// Mode describes how the addresses of a Config are to be understood.
type Mode uint8

// The modes. Auto asks the server whether it is part of a cluster.
const (
	Auto Mode = iota
	Cluster
	Sentinel
)

// Config represents a server, or the way to find it.
type Config struct {
	Network   string   // "tcp" or "unix"
	Loading   bool     // a server that is loading its data is connected to, too: it answers INFO and little else
	Addresses []string // host:port, or one path
	Mode      Mode
	Master    string // sentinel: the name of the primary
	DB        int
	User      string
	Password  Secret

	SentinelUser     string
	SentinelPassword Secret

	TLS     *tls.Config   // nil: plain
	Timeout time.Duration // of dialling and of each wait; 0: 5 s
}

// Options describes what a user may say beside the URL.
type Options struct {
	URL        string // from a flag; "" means: look into the environment
	CAFile     string
	CertFile   string
	KeyFile    string
	ServerName string
	Insecure   bool // do not verify the server's certificate
	Timeout    time.Duration
	Getenv     func(string) string // nil: no environment
}

// New makes a Config: the URL from the flag, else KEYWRIGHT_URL, else REDIS_URL,
// else DefaultURL; a password that the URL lacks from REDISCLI_AUTH. The errors
// are *ConfigError.
func New(o Options) (Config, error) {
	env := o.Getenv
	if env == nil {
		env = func(string) string { return "" }
	}
	c, err := Parse(cmp.Or(o.URL, env("KEYWRIGHT_URL"), env("REDIS_URL"), DefaultURL))
	if err != nil {
		return c, err
	}
	if c.Password.Empty() {
		c.Password = NewSecret(env("REDISCLI_AUTH"))
	}
	c.Timeout = cmp.Or(o.Timeout, c.Timeout, 5*time.Second)
	return c, c.secure(o)
}

// Patience returns how long a server that does not answer is waited for in all, however often it is asked: half a
// minute with the timeout that is not set, longer than a failover.
func (c Config) Patience() time.Duration { return 6 * cmp.Or(c.Timeout, 5*time.Second) }

// ConfigError represents a URL or TLS setting that cannot be used.
type ConfigError struct {
	What string
	Hint string
}

func (e *ConfigError) Error() string {
	if e.Hint == "" {
		return e.What
	}
	return e.What + "; " + e.Hint
}

// schemes lists the URL schemes: what they mean for TLS and for the mode.
var schemes = map[string]struct {
	tls  bool
	mode Mode
	unix bool
}{
	"redis": {}, "valkey": {}, "rediss": {tls: true}, "valkeys": {tls: true}, "unix": {unix: true},
	"redis+unix":    {unix: true},
	"redis+cluster": {mode: Cluster}, "rediss+cluster": {tls: true, mode: Cluster},
	"redis+sentinel": {mode: Sentinel}, "rediss+sentinel": {tls: true, mode: Sentinel},
}

// Parse reads a URL:
//
//	redis://[user[:password]@]host[:port][/db]        rediss:// with TLS
//	unix:///path/to/socket[?db=N]
//	redis+cluster://host:port[,host:port…]            any nodes of the cluster
//	redis+sentinel://host:port[,host:port…]/master[/db][?sentinel_user=…&sentinel_password=…]
//
// The error repeats nothing of the text: where it does not parse, any part of it may be one of a password.
func Parse(text string) (Config, error) {
	c := Config{Network: "tcp"}
	name, rest, ok := strings.Cut(text, "://")
	scheme, known := schemes[name]
	if !ok || !known {
		return c, &ConfigError{"this is not a server URL",
			"write redis://host:port, rediss:// for TLS, unix:///path, redis+cluster:// or redis+sentinel://"}
	}
	if scheme.tls {
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c.Mode = scheme.mode
	rest, rawQuery, _ := strings.Cut(rest, "?")
	if strings.Contains(rawQuery, "@") && !strings.Contains(rest, "@") {
		return c, &ConfigError{"the URL has a ? before its @",
			"percent-encode what is special: %3F for ? in a password, %40 for @ after the ?"}
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return c, &ConfigError{"the part of the URL after ? cannot be read", "percent-encode what is special"}
	}
	if scheme.unix {
		if before, _, _ := strings.Cut(rest, "/"); strings.Contains(before, "@") {
			return c, &ConfigError{"the URL of a socket has no login", "write unix:///path, and the password into REDISCLI_AUTH"}
		}
		c.Network, c.Addresses = "unix", []string{rest}
		return c, c.settings(query)
	}
	login, hosts := "", rest
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		login, hosts = rest[:at], rest[at+1:]
	}
	if err := c.login(login); err != nil {
		return c, err
	}
	hosts, path, _ := strings.Cut(hosts, "/")
	if err := c.hosts(hosts); err != nil {
		return c, err
	}
	if err := c.path(path); err != nil {
		return c, err
	}
	return c, c.settings(query)
}

func (c *Config) login(text string) error {
	user, password, _ := strings.Cut(text, ":")
	var err1, err2 error
	c.User, err1 = url.PathUnescape(user)
	password, err2 = url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return &ConfigError{"the login in the URL is not percent-encoded", "write %25 for %, %40 for @, %2F for /, %3A for :"}
	}
	c.Password = NewSecret(password)
	return nil
}

func (c *Config) hosts(text string) error {
	if text == "" {
		text = "127.0.0.1"
	}
	port := "6379"
	if c.Mode == Sentinel {
		port = "26379"
	}
	for _, h := range strings.Split(text, ",") {
		host, p, err := net.SplitHostPort(h)
		if err != nil {
			host, p = strings.Trim(h, "[]"), port
		}
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 || !names(host) {
			return &ConfigError{"the URL has no host and port where one belongs",
				"write redis://:password@host:port, an IPv6 address as [::1]:6379, and %40 for @ in a password"}
		}
		c.Addresses = append(c.Addresses, net.JoinHostPort(strings.TrimSuffix(host, "."), p))
	}
	return nil
}

// names reports whether a text can be the name of a host, or its address. No other is looked up: it may be a part of
// a password.
func names(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-._", r)
	})
}

func (c *Config) path(text string) error {
	if c.Mode == Sentinel {
		c.Master, text, _ = strings.Cut(text, "/")
		if c.Master == "" {
			return &ConfigError{"a sentinel URL names the primary", "write redis+sentinel://host:26379/mymaster"}
		}
	}
	return c.db(text)
}

func (c *Config) db(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<20 {
		return &ConfigError{"the database in the URL is no number", "write redis://host:port/0"}
	}
	if c.Mode == Cluster && n != 0 {
		return &ConfigError{"a cluster has database 0 only", "remove the number"}
	}
	c.DB = n
	return nil
}

// settings returns the query parameters of a URL.
func (c *Config) settings(query url.Values) error {
	for name, values := range query {
		v := values[0]
		var err error
		switch name {
		case "db":
			err = c.db(v)
		case "cluster":
			if v == "true" {
				c.Mode = Cluster
			}
		case "sentinel_user", "sentinel_username":
			c.SentinelUser = v
		case "sentinel_password":
			c.SentinelPassword = NewSecret(v)
		case "timeout":
			if c.Timeout, err = time.ParseDuration(v); err != nil || c.Timeout <= 0 {
				err = &ConfigError{"the timeout in the URL is not a duration", "write timeout=5s"}
			}
		default:
			return &ConfigError{"the URL has a setting that is not known",
				"known are db, cluster, timeout, sentinel_user, sentinel_password"}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// secure applies the TLS options.
func (c *Config) secure(o Options) error {
	if o.CAFile == "" && o.CertFile == "" && o.KeyFile == "" && o.ServerName == "" && !o.Insecure {
		return nil
	}
	if c.TLS == nil {
		return &ConfigError{"TLS options are given, but the URL is not one for TLS", "write rediss:// instead of redis://"}
	}
	c.TLS.ServerName, c.TLS.InsecureSkipVerify = o.ServerName, o.Insecure
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return &ConfigError{"the CA file cannot be read: " + err.Error(), ""}
		}
		c.TLS.RootCAs = x509.NewCertPool()
		if !c.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return &ConfigError{"the CA file " + o.CAFile + " holds no certificate", "it must be PEM"}
		}
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return &ConfigError{"a client certificate needs both a certificate and a key", "give --tls-cert and --tls-key"}
	}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return &ConfigError{"the client certificate cannot be used: " + err.Error(), ""}
		}
		c.TLS.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// HasPassword reports whether a URL carries a password, which a process list
// shows to everybody when it is in the arguments.
func HasPassword(text string) bool {
	c, err := Parse(text)
	return err == nil && (!c.Password.Empty() || !c.SentinelPassword.Empty())
}

// WithoutPasswords returns a URL without the passwords in it: it may be printed and kept. A text that Parse refuses is
// an error.
func WithoutPasswords(text string) (string, error) {
	if _, err := Parse(text); err != nil {
		return "", err
	}
	name, rest, _ := strings.Cut(text, "://")
	rest, rawQuery, _ := strings.Cut(rest, "?")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 && !schemes[name].unix {
		login, hosts := rest[:at], rest[at+1:]
		if user, _, _ := strings.Cut(login, ":"); user != "" {
			hosts = user + "@" + hosts
		}
		rest = hosts
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return "", err
	}
	query.Del("sentinel_password")
	if len(query) > 0 {
		rest += "?" + query.Encode()
	}
	return name + "://" + rest, nil
}

// String returns the server without any secret.
func (c Config) String() string {
	switch {
	case c.Network == "unix":
		return "unix://" + c.Addresses[0]
	case c.Mode == Sentinel:
		return c.Master + " by sentinel " + strings.Join(c.Addresses, ",")
	}
	return strings.Join(c.Addresses, ",")
}

// MarshalText implements encoding.TextMarshaler, and so JSON, without secrets.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// GoString implements fmt.GoStringer.
func (c Config) GoString() string { return "connect.Config(" + c.String() + ")" }

// LogValue implements slog.LogValuer.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// At returns the same login for another address: a member of the cluster or the
// primary a sentinel names.
func (c Config) At(address string) Config {
	c.Network, c.Addresses, c.Mode, c.Master = "tcp", []string{address}, Auto, ""
	return c
}

// Kind says what went wrong in reaching a server.
type Kind uint8

// The kinds of errors.
const (
	Unreachable Kind = iota + 1 // refused, no such host, timeout, TLS
	Denied                      // no or wrong login, missing permission
	Unsupported                 // too old, or not a Redis at all
	Broken                      // the connection or the protocol failed in between
	Unsettled                   // the servers do not agree which of them are the primaries
)

// Error represents a server that could not be used.
type Error struct {
	Kind   Kind
	Server string
	Err    error
	Hint   string
}

func (e *Error) Error() string {
	text := e.Server + ": " + e.Err.Error()
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsKind reports whether err is an Error of one of the kinds.
func IsKind(err error, kinds ...Kind) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(kinds, e.Kind)
}
