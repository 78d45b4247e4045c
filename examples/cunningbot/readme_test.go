package cunningbot_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	bot "github.com/keywright/keywright/examples/cunningbot"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestReadme runs the third way of README.md as it is written, but for addresses, and gets what it
// shows; and each variable of README.md and of the compose file is one that a program reads.
func TestReadme(t *testing.T) {
	gate.Skip(t, "runs programs")
	text, err := os.ReadFile("README.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "<!-- not run: TestReadme sends")
	block, _, ok := strings.Cut(rest, "```\n\n")
	block = strings.ReplaceAll(block, "\\\n> ", "") // a command of two lines
	if !ok {
		t.Fatal("README.md has no commands")
	}
	s := keywrighttest.Start(t, keywrighttest.Redis)
	host, port, _ := strings.Cut(s.Addr(), ":")
	at := address(t)
	moved := strings.NewReplacer("localhost:8089", at, "redis-cli ", "redis-cli -p "+port+" ")
	env := []string{"REDIS_HOST=" + host, "REDIS_PORT=" + port}
	start(t, nil, program(t, "locald"), "-http", at)
	var want []string
	for line := range strings.Lines(block) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		switch {
		case !is && strings.Contains(line, "…") || strings.HasPrefix(line, "`") || strings.Contains(line, "-->"):
		case !is:
			want = append(want, strings.TrimSpace(line))
		case strings.HasPrefix(command, "export "):
			env = append(env, strings.Fields(moved.Replace(strings.TrimPrefix(command, "export ")))...)
		case strings.HasPrefix(command, "redis-cli"):
			if out, err := exec.Command("sh", "-c", moved.Replace(command)).CombinedOutput(); err != nil ||
				strings.Contains(string(out), "ERR") {
				t.Fatalf("%s: %v %s", command, err, out)
			}
		case strings.HasPrefix(command, "./cunningbotd"):
			for _, one := range strings.Split(strings.TrimSuffix(command, " &"), " & ") {
				start(t, env, program(t, "cunningbotd"), strings.Fields(one)[1:]...)
			}
		}
	}
	if len(want) != 2 {
		t.Fatalf("README.md shows %q", want)
	}
	await(t, "it is posted as README.md shows", func() bool {
		answer, err := http.Get("http://" + at + "/posted")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		posted, err := io.ReadAll(answer.Body)
		must(t, err)
		return strings.Contains(string(posted), strings.Join(want, "\n")) &&
			strings.Contains(string(posted), "A hurricane is remembered")
	})
}

// TestVariables: README.md, env.example and compose.yaml name no variable that no program reads, and
// README.md names all.
func TestVariables(t *testing.T) {
	read := map[string]bool{"REDIS_ARCHIVE_PASSWORD": true}
	_, err := bot.Read(func(name string) string {
		read[name] = true
		return map[string]string{"REDIS_PASSWORD": "x", "REDIS_HEALTH_PASSWORD": "x"}[name]
	})
	must(t, err)
	name := regexp.MustCompile(`\b(REDIS|DISCORD|OPENAI|USE|CUNNINGBOT)_[A-Z_]+\b|\bTZ\b`)
	ours := regexp.MustCompile(`^CUNNINGBOT_(DIR|BIN|USER|PASSWORD)$`) // of the compose file itself
	named := map[string]bool{}
	for _, file := range []string{"README.md", "deploy/compose.yaml", "deploy/env.example"} {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, v := range name.FindAllString(string(text), -1) {
			if !read[v] && !ours.MatchString(v) {
				t.Errorf("%s: nothing reads %s", file, v)
			}
			named[v] = named[v] || file == "README.md"
		}
	}
	for v := range read {
		if !named[v] && v != "REDIS_ARCHIVE_PASSWORD" {
			t.Errorf("README.md does not name %s", v)
		}
	}
}
