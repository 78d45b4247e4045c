package cunningbot

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/cunningbot/cunningkeys"
	"github.com/keywright/keywright/examples/cunningbot/outside"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/cunningbot/state/files"
	"github.com/keywright/keywright/examples/cunningbot/state/moving"
	"github.com/keywright/keywright/examples/cunningbot/state/redis"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

//go:embed keyspace.yaml scripts
var declaration embed.FS

// Environment holds the variables of a program, by the names of the page.
type Environment struct {
	Redis       string // URL with user and password; no part of any output
	Health      string // the same for a user that may ask how the server is; "": Redis
	Connections int
	UseRedis    bool
	Migrating   bool   // each subsystem is where its phase says; UseRedis is false
	State       string // folder of the JSON files
	Discord     string // base URL, "": Discord
	Token       string
	PublicKey   ed25519.PublicKey
	OpenAI      string // base URL, "": OpenAI
	Key, Model  string
	HTTP        string // where the bot listens
	Private     bool   // feeds may be on private addresses
	Zone        *time.Location
	Debug       bool
}

// Read reads the variables. Each that cannot be read is in the error, without its value.
func Read(getenv func(string) string) (e Environment, err error) {
	number := func(name string, otherwise int) int {
		text := cmp.Or(getenv(name), strconv.Itoa(otherwise))
		n, wrong := strconv.Atoi(text)
		if wrong != nil || n < 0 {
			err = errors.Join(err, fmt.Errorf("%s is no number", name))
		}
		return n
	}
	truth := func(name string, otherwise bool) bool {
		v, wrong := strconv.ParseBool(cmp.Or(getenv(name), strconv.FormatBool(otherwise)))
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s must be true or false", name))
		}
		return v
	}
	u := url.URL{Scheme: "redis", Host: net.JoinHostPort(cmp.Or(getenv("REDIS_HOST"), "redis"),
		strconv.Itoa(number("REDIS_PORT", 6379))),
		Path: "/" + strconv.Itoa(number("REDIS_DB", 0))}
	if user, password := getenv("REDIS_USERNAME"), getenv("REDIS_PASSWORD"); password != "" {
		u.User = url.UserPassword(user, password)
	}
	health := ""
	if password := getenv("REDIS_HEALTH_PASSWORD"); password != "" {
		other := u
		other.User = url.UserPassword("health", password)
		health = other.String()
	}
	e = Environment{
		Redis: u.String(), Health: health, Connections: number("REDIS_MAX_CONNECTIONS", 20),
		Migrating: getenv("USE_REDIS") == migrating,
		State:     cmp.Or(getenv("CUNNINGBOT_STATE"), "bot/app"), Discord: getenv("DISCORD_API"),
		Token:  getenv("DISCORD_TOKEN"),
		OpenAI: getenv("OPENAI_BASE_URL"), Key: getenv("OPENAI_API_KEY"), Model: getenv("OPENAI_MODEL"),
		HTTP: cmp.Or(getenv("CUNNINGBOT_HTTP"), "127.0.0.1:8080"), Private: truth("CUNNINGBOT_PRIVATE_FEEDS", false),
		Debug: truth("CUNNINGBOT_DEBUG", false),
	}
	if !e.Migrating {
		e.UseRedis = truth("USE_REDIS", true)
	}
	if e.Zone, _ = time.LoadLocation(cmp.Or(getenv("TZ"), "UTC")); e.Zone == nil {
		err = errors.Join(err, errors.New("TZ is no time zone"))
	}
	if text := getenv("DISCORD_PUBLIC_KEY"); text != "" {
		if e.PublicKey, _ = hex.DecodeString(text); len(e.PublicKey) != ed25519.PublicKeySize {
			err = errors.Join(err, errors.New("DISCORD_PUBLIC_KEY must have 64 hexadecimal digits"))
		}
	}
	return e, err
}

// migrating says what USE_REDIS says while subsystems move from the files to Redis.
const migrating = "migrating"

// Open opens the store: Redis, the files, or each subsystem where its phase says. It fails if the
// store cannot be used now. While subsystems migrate it fails only if Redis refuses the login: where Redis
// cannot be reached, subsystems work that read the files, and the others once it can.
func (e Environment) Open(ctx context.Context, name string, log *slog.Logger) (*state.Store, error) {
	if e.Migrating {
		return e.openMigrating(ctx, name, log)
	}
	if err := e.contradicts(ctx); err != nil {
		return nil, err
	}
	if !e.UseRedis {
		s, err := files.New(e.State)
		if err == nil {
			log.Debug("files", "folder", e.State)
		}
		return s, err
	}
	c, err := e.client(ctx, e.Redis, name, e.Connections, log)
	if err != nil {
		return nil, err
	}
	s := redis.New(c)
	s.Close = c.Close
	if e.Health != "" {
		other, err := e.client(ctx, e.Health, name+"-health", 1, log)
		if err != nil {
			c.Close()
			return nil, err
		}
		s.Health = func(ctx context.Context) state.Health { return redis.Health(ctx, other, cunningkeys.New(c)) }
		s.Close = func() { other.Close(); c.Close() }
	}
	log.Info("Redis connected", "server", c.Server(), "database", c.Database())
	return s, nil
}

// contradicts is an error where USE_REDIS says another side than the phases of the migration: what a program
// writes there, the others would not see. A folder in which no migration has begun says nothing.
func (e Environment) contradicts(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(e.State, ".keywright")); err != nil {
		return nil
	}
	moves, err := moving.Declared(declaration)
	if err != nil {
		return err
	}
	m, err := migrate.Open(ctx, migrate.Config{Root: e.State, Map: moves, Look: true})
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }() // it only looks
	for _, part := range moving.Subsystems {
		is, err := m.Phase(part)
		if err != nil {
			return err
		}
		switch {
		case e.UseRedis && is.Phase != phase.Complete:
			return fmt.Errorf("USE_REDIS is true, and %s is in phase %s of the migration: set USE_REDIS=%s until "+
				"`keywright migrate advance` has brought each part to complete", part, is.Phase, migrating)
		case !e.UseRedis && is.Phase != phase.Off:
			return fmt.Errorf("USE_REDIS is false, and %s is in phase %s of the migration: set USE_REDIS=%s, or go back "+
				"with `keywright migrate rollback` until each part is off", part, is.Phase, migrating)
		}
	}
	return nil
}

// openMigrating opens the store of a program that migrates. It starts without Redis, too: the files decide until a
// part is live.
func (e Environment) openMigrating(ctx context.Context, name string, log *slog.Logger) (*state.Store, error) {
	m, err := moving.Open(ctx, e.State, declaration, migrate.Config{Connect: func(ctx context.Context) (
		*keywright.Client, error) {
		c, err := e.client(ctx, e.Redis, name, e.Connections, log)
		switch {
		case err == nil:
			log.Info("Redis connected", "server", c.Server(), "database", c.Database())
		case ctx.Err() == nil:
			log.Warn("Redis cannot be reached, and is tried again", "error", err)
		}
		return c, err
	}})
	if err != nil {
		return nil, err
	}
	log.Info("the subsystems are where their phases say", "folder", e.State)
	return moving.New(m), nil
}

// NewMigration makes this process one of the migration from the JSON files of a folder to Redis. Close does not close
// the client.
func NewMigration(ctx context.Context, dir string, c *keywright.Client) (*moving.Migration, error) {
	return moving.Open(ctx, dir, declaration, migrate.Config{Client: c})
}

// client opens a client: 5 s for a reply, three attempts half a second, then a second apart. What
// it does is logged at the level DEBUG, by entry and never by key: keys have ids of users.
func (e Environment) client(ctx context.Context, at, name string, connections int,
	log *slog.Logger) (*keywright.Client, error) {
	// Commands share connections, as a power of two; locks, queues and transactions take more.
	power := max(bits.Len(uint(max(connections, 1)))-3, 0)
	if power == 0 {
		power = -1 // one
	}
	return keywright.Open(ctx, at, keywright.Options{Name: name, Timeout: 5 * time.Second, Attempts: 3,
		Backoff:     500 * time.Millisecond,
		Connections: power, NoCache: true, Logger: slog.New(quiet{log.Handler()}),
		Hooks: []keywright.Hook{{Done: func(_ context.Context,
			call keywright.Call, o keywright.Outcome) {
			log.Debug("[Redis:"+strings.ToUpper(call.Op)+"]", "entry", call.Entry, "elapsed", o.Elapsed, "attempts", o.Attempts)
		}}}})
}

// quiet leaves out what the client logs of each operation that went well: Done logs it in the page's form.
type quiet struct{ slog.Handler }

// Enabled reports whether a line of a level is logged.
func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l > slog.LevelDebug && q.Handler.Enabled(ctx, l)
}

// New returns the bot with real clients.
func (e Environment) New(s *state.Store, log *slog.Logger) (*Bot, error) {
	d, err := outside.NewDiscord(e.Discord, e.Token)
	if err != nil {
		return nil, err
	}
	b := &Bot{Store: s, Discord: d, Reader: outside.NewWeb(e.Private), Log: log, Zone: e.Zone}
	if e.Key != "" {
		b.Model = outside.NewOpenAI(e.OpenAI, e.Key, e.Model)
	}
	return b, nil
}
