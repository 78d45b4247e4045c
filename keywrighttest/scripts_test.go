package keywrighttest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
)

// TestBrokenScripts: what a script does after its first write is held against
// what it looked at before.
func TestBrokenScripts(t *testing.T) {
	t.Parallel()
	for _, brand := range keywrighttest.Brands() {
		s := keywrighttest.Start(t, brand)
		s.Do("RPUSH", "lane", "1", "2", "3")
		w := s.WatchScripts()
		for _, sound := range []string{
			"return redis.call('LPOP', KEYS[1])",
			"redis.call('GET', KEYS[2]) redis.call('LPOP', KEYS[1]) redis.call('SET', KEYS[2], 1) return " +
				"redis.call('GET', KEYS[2])",
			"redis.call('SET', KEYS[2], 'a\\0\"b') redis.call('UNLINK', KEYS[1])",
			"redis.call('GET', 'made') redis.call('LLEN', KEYS[1]) redis.call('SET', 'made', 1) redis.call('LPUSH', KEYS[1], 1)",
		} {
			s.Do("EVAL", sound, "2", "lane", "text")
		}
		if broken := w.Broken(); len(broken) > 0 {
			t.Errorf("%s: sound scripts are called broken: %s", brand, broken)
		}
		if calls := w.Calls(); len(calls) != 4 || len(calls[1].Commands) != 4 || calls[2].Commands[0][2] != "a\x00\"b" {
			t.Errorf("%s: %q", brand, calls)
		}
	}
}

func TestBrokenScriptsAreFound(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"MGET": "redis.call('LPOP', KEYS[1]) return redis.call('MGET', 'job:1', 'job:2')",
		"HSET": "redis.call('LPUSH', KEYS[1], 1) return redis.call('HSET', KEYS[2], 'a', 1)",
		"DEL":  "redis.call('LPUSH', KEYS[1], 1) return redis.call('DEL', 'undeclared')",
	} {
		t.Run(want, func(t *testing.T) {
			s := keywrighttest.Start(t, keywrighttest.Redis)
			w := s.RecordScripts()
			s.Do("EVAL", text, "2", "lane", "text")
			if broken := w.Broken(); len(broken) != 1 || !strings.Contains(broken[0], want) {
				t.Errorf("%q", broken)
			}
		})
	}
}

// TestScriptsOfAServerThatDoesNotAnswer: what was seen until then is judged, and that
// the server is gone fails no test.
func TestScriptsOfAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*keywrighttest.Server){
		"killed":  (*keywrighttest.Server).Kill,
		"stopped": (*keywrighttest.Server).Stop,
		"restarted": func(s *keywrighttest.Server) {
			s.Restart()
		},
		"killed and restarted": func(s *keywrighttest.Server) { s.Kill(); s.Restart() },
	} {
		t.Run(what, func(t *testing.T) {
			s := keywrighttest.Start(t, keywrighttest.Redis)
			w := s.WatchScripts()
			s.Do("EVAL", "return redis.call('LPUSH', KEYS[1], 1)", "1", "lane")
			if n := len(w.Calls()); n != 1 {
				t.Errorf("%d calls", n)
			}
			end(s)
			if what == "stopped" {
				return
			}
			if n := len(w.Calls()); n != 1 || len(w.Broken()) != 0 {
				t.Errorf("%d calls after the end", n)
			}
		})
	}
}

// TestLong: what goes through all that is there, or sends very much, is long; what does
// little is not, whatever the machine does meanwhile.
func TestLong(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	long := s.Long(time.Hour, func() {
		s.Do("EVAL", "-- much\nfor i = 1, 200000 do redis.call('GET', KEYS[1]) end", "1", "a")
		add := []string{"ZADD", "large"}
		for i := range 3000 {
			add = append(add, "1", strconv.Itoa(i))
		}
		s.Do(add...)
		for name, script := range map[string]string{
			"little": "redis.call('GET', KEYS[1])", "part": "redis.call('ZRANGE', 'large', '0', '9')",
			"through": "redis.call('ZRANGE', 'large', '0', '-1')", "scores": "redis.call('ZRANGEBYSCORE', 'large', '0', '1')",
			"some": "redis.call('ZRANGEBYSCORE', 'large', '0', '1', 'LIMIT', 0, 10)", "remove": "redis.call('DEL', 'large')",
		} {
			s.Do("EVAL", "-- "+name+"\n"+script, "1", "a")
			s.Do(add...)
		}
	})
	text := fmt.Sprint(long)
	for _, name := range []string{"much", "through", "scores", "remove"} {
		if !strings.Contains(text, "-- "+name) {
			t.Errorf("%s is not long: %q", name, long)
		}
	}
	if len(long) != 4 {
		t.Errorf("%q", long)
	}
}
