package cunningbot_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	bot "github.com/keywright/keywright/examples/cunningbot"
	"github.com/keywright/keywright/examples/cunningbot/local"
	"github.com/keywright/keywright/examples/cunningbot/outside"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/cunningbot/state/files"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// slowModel answers when it is asked to.
type slowModel struct {
	says chan string // closed: it fails
}

func (m slowModel) Ask(ctx context.Context, _, _ string) (string, error) {
	select {
	case says, ok := <-m.says:
		if !ok {
			return "", errors.New("the model is away")
		}
		return says, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// TestAskIsAnsweredLater: Discord waits for 3 s and a model may take longer: the user reads at once that the answer
// comes, and gets it when it is there. There is a bound to how many wait.
func TestAskIsAnsweredLater(t *testing.T) {
	discord := &local.Discord{Token: "local"}
	site := httptest.NewServer(discord)
	defer site.Close()
	store, err := files.New(t.TempDir())
	must(t, err)
	client, err := outside.NewDiscord(site.URL, "local")
	must(t, err)
	model := slowModel{make(chan string)}
	b := &bot.Bot{Store: store, Discord: client, Model: model, Log: slog.New(slog.DiscardHandler)}
	ask := func(token string) string {
		return strings.TrimSpace(sendInteraction(t, b, fmt.Sprintf(`{"type":2,"application_id":"1","token":%q,"guild_id":"9",`+
			`"data":{"name":"ask","options":[{"name":"question","value":"?"}]}}`, token)))
	}
	const later = `{"type":5,"data":{"flags":64}}`
	same(t, "while the model thinks", ask("a"), later)
	model.says <- "Forty-two."
	await(t, "the answer comes", func() bool { return discord.Answer("a") == "Forty-two." })
	b.Wait()
	for i := range 16 {
		same(t, "one more", ask(fmt.Sprint("b", i)), later)
	}
	if said := ask("c"); !strings.Contains(said, "cannot be done now") {
		t.Errorf("the seventeenth: %s", said)
	}
	close(model.says)
	b.Wait()
	for i := range 16 {
		if said := discord.Answer(fmt.Sprint("b", i)); !strings.Contains(said, "did not answer") {
			t.Errorf("of a model that is away: %q", said)
		}
	}
}

// TestLocksLeaveNoFiles: the file of a lock goes when it is free, and the lock is one process's at a time all the same.
func TestLocksLeaveNoFiles(t *testing.T) {
	dir := t.TempDir()
	store, err := files.New(dir)
	must(t, err)
	var all sync.WaitGroup
	inside := make(chan struct{}, 1)
	for range 8 {
		all.Go(func() {
			for range 50 {
				err := store.Locks.Try(t.Context(), state.LockTriviaGame, "9", "game", func(context.Context) error {
					select {
					case inside <- struct{}{}:
						<-inside
					default:
						t.Error("two have the lock")
					}
					return nil
				})
				if err != nil && !errors.Is(err, state.ErrHeld) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	left, err := filepath.Glob(filepath.Join(dir, "locks", "*"))
	must(t, err)
	same(t, "files", len(left), 0)
	_, err = os.Stat(filepath.Join(dir, "locks"))
	must(t, err)
}

// TestSignedByHand runs the commands of README.md that sign an interaction, and gets the answer that it shows.
func TestSignedByHand(t *testing.T) {
	gate.Skip(t, "runs programs")
	text, err := os.ReadFile("README.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "<!-- not run: TestSignedByHand runs these commands -->\n```console\n")
	block, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("README.md has no commands")
	}
	discord := httptest.NewServer(&local.Discord{Token: "local"})
	defer discord.Close()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	host, port, _ := strings.Cut(s.Addr(), ":")
	listens := address(t)
	var script, want strings.Builder
	for line := range strings.Lines(block) {
		if command, is := strings.CutPrefix(line, "$ "); is {
			script.WriteString(command)
		} else if more, is := strings.CutPrefix(line, ">"); is {
			script.WriteString(more)
		} else {
			want.WriteString(line)
		}
	}
	commands := strings.NewReplacer("localhost:8080", listens,
		"curl -s", "curl -s --retry 20 --retry-delay 1 --retry-connrefused",
		"./cunningbotd bot &", program(t, "cunningbotd")+" bot >said 2>&1 & bot=$!\ntrap 'kill $bot' EXIT",
	).Replace(script.String())
	run := exec.Command("sh", "-c", commands)
	run.Dir = t.TempDir()
	run.Env = append(os.Environ(), "REDIS_HOST="+host, "REDIS_PORT="+port, "CUNNINGBOT_HTTP="+listens,
		"DISCORD_TOKEN=local", "DISCORD_API="+discord.URL)
	out, err := run.Output()
	if err != nil {
		said, _ := os.ReadFile(filepath.Join(run.Dir, "said"))
		t.Fatalf("%v\n%s", err, said)
	}
	same(t, "the answer", string(out), want.String())
}
