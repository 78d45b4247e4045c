// Command cunningbotd has the seven programs of CunningBot, and four for its upkeep:
//
//	cunningbotd bot                      commands, buttons and health over HTTP
//	cunningbotd rssfeed                  reads feeds
//	cunningbotd rsssummary               posts what waits
//	cunningbotd breaking-news-validator  posts news about topics
//	cunningbotd trivia-poster            opens games
//	cunningbotd trivia-closer            closes games
//	cunningbotd dailygame                posts once a day
//
//	cunningbotd backup  -dir FOLDER      saves all keys, daily with -every 24h
//	cunningbotd health  URL              exit code 0 if the bot at the URL is healthy
//	cunningbotd seed    FOLDER           JSON files as the bot had them
//	cunningbotd archive FOLDER           moves the JSON files there, after their migration
//
// What they need is in variables: REDIS_HOST, DISCORD_TOKEN, … (README.md lists them). Secrets
// have no flags, since any user of the machine sees those.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/cunningbot"
	"github.com/keywright/keywright/examples/cunningbot/outside"
	"github.com/keywright/keywright/examples/cunningbot/seed"
	"github.com/keywright/keywright/examples/internal/program"
)

// version says what runs: global:stats:bot_version.
const version = "2.0.0"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	asked := ctx.Err() != nil
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil && !(asked && errors.Is(err, context.Canceled)):
		fmt.Fprintln(os.Stderr, "cunningbotd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("say what to do: bot, rssfeed, rsssummary, breaking-news-validator, trivia-poster, " +
			"trivia-closer, dailygame, backup, health, seed or archive")
	}
	f := flag.NewFlagSet("cunningbotd "+args[0], flag.ContinueOnError)
	switch args[0] {
	case "health":
		return health(ctx, f, args[1:])
	case "seed":
		return files(f, args[1:])
	case "backup":
		return backup(ctx, f, args[1:])
	case "archive":
		return archive(ctx, f, args[1:])
	}
	task, polls := cunningbot.Tasks[args[0]]
	if !polls && args[0] != "bot" {
		return fmt.Errorf("there is no program %q", args[0])
	}
	every := f.Duration("poll", task.Poll, "between two looks")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	e, log, err := environment()
	if err != nil {
		return err
	}
	store, err := e.Open(ctx, "cunningbot-"+args[0], log)
	if err != nil {
		return err
	}
	defer store.Close()
	b, err := e.New(store, log)
	if err != nil {
		return err
	}
	if polls {
		b.Poll(ctx, *every, task.Run)
		return nil
	}
	return bot(ctx, e, b)
}

func environment() (cunningbot.Environment, *slog.Logger, error) {
	e, err := cunningbot.Read(os.Getenv)
	level := slog.LevelInfo
	if e.Debug {
		level = slog.LevelDebug
	}
	return e, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), err
}

// bot listens until ctx ends; what is under way is answered.
func bot(ctx context.Context, e cunningbot.Environment, b *cunningbot.Bot) error {
	if e.PublicKey == nil {
		return errors.New("DISCORD_PUBLIC_KEY is not set: without it nothing shows that Discord has sent a command")
	}
	if err := b.Store.Settings.Started(ctx, version); err != nil {
		return err
	}
	if err := b.Discord.(*outside.Discord).Register(ctx, cunningbot.Commands); err != nil {
		return err
	}
	err := program.Listen(ctx, e.HTTP, b.Handler(e.PublicKey), 5*time.Second)
	b.Wait()
	return err
}

func health(ctx context.Context, f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("say where: cunningbotd health http://localhost:8080/health")
	}
	ctx, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.Arg(0), nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it is unhealthy: %s", answer.Status)
	}
	return nil
}

func files(f *flag.FlagSet, args []string) error {
	o := seed.Options{}
	f.Uint64Var(&o.Seed, "seed", 1, "of the random numbers")
	f.IntVar(&o.Guilds, "guilds", 0, "how many (default: 12)")
	f.IntVar(&o.Articles, "articles", 0, "that wait (default: 3200, some 2.3 MB)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("say where: cunningbotd seed FOLDER")
	}
	o.Now = time.Now()
	return seed.Write(f.Arg(0), o)
}

// archive moves the files away when no subsystem needs them any more.
func archive(ctx context.Context, f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("say where: cunningbotd archive FOLDER")
	}
	e, _, err := environment()
	if err != nil {
		return err
	}
	c, err := keywright.Open(ctx, e.Redis, keywright.Options{Name: "cunningbot-archive", NoCache: true})
	if err != nil {
		return err
	}
	defer c.Close()
	m, err := cunningbot.NewMigration(ctx, e.State, c)
	if err != nil {
		return err
	}
	return errors.Join(m.Archive(ctx, f.Arg(0)), m.Close())
}

// backup saves all keys; with -every again and again, when the last good one is so old.
func backup(ctx context.Context, f *flag.FlagSet, args []string) error {
	var b cunningbot.Backup
	f.StringVar(&b.Dir, "dir", "backups", "folder of the backups")
	f.StringVar(&b.Keywright, "keywright", "", "the program (default: keywright)")
	f.StringVar(&b.Declaration, "declaration", "keyspace.yaml", "the declaration")
	every := f.Duration("every", 0, "between two backups; 0: one, now")
	if err := f.Parse(args); err != nil {
		return err
	}
	e, log, err := environment()
	if err != nil {
		return err
	}
	at, err := url.Parse(e.Redis)
	if err != nil {
		return errors.New("the address of Redis cannot be used")
	}
	if b.URL = e.Redis; os.Getenv("REDIS_ARCHIVE_PASSWORD") != "" {
		at.User = url.UserPassword("archive", os.Getenv("REDIS_ARCHIVE_PASSWORD"))
		b.URL = at.String()
	}
	c, err := keywright.Open(ctx, e.Redis, keywright.Options{Name: "cunningbot-backup", NoCache: true})
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		last, err := b.Last()
		if err != nil {
			return err
		}
		if *every == 0 || time.Since(last) >= *every {
			file, err := b.Run(ctx, c)
			if *every == 0 {
				return err
			}
			if err != nil && ctx.Err() == nil {
				log.Error("there is no backup, and it is tried again in a minute", "error", err)
			} else if err == nil {
				log.Info("a backup was made and read back", "file", file)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(time.Minute, max(*every, time.Second))):
		}
	}
}
