package event_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/keywrighttest"
)

// scene is a stream with what the laws below need.
type scene struct {
	*testing.T
	server *keywrighttest.Server
	stream event.Stream[note]
}

// consumer makes one whose lease is long over when the test asks, whatever the
// machine: idle times are set by hand.
func (s scene) consumer(name string) event.Consumer[note] {
	return event.ConsumerOf(s.stream, "g", event.RunOptions[note]{Name: name, Lease: time.Minute})
}

// silence makes the server believe that a message was last touched an hour ago.
func (s scene) silence(owner, id string) {
	s.server.Do("XCLAIM", "journal", "g", owner, "0", id, "IDLE", "3600000", "JUSTID")
}

// laws are what the scripts hold; each breaks when its guard is taken out.
var laws = map[string]struct {
	guard, instead string
	law            func(s scene) error
}{
	"a sign of life keeps a message": {"redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')", "", func(s scene) error {
		a, b := s.consumer("a"), s.consumer("b")
		id := publish(s, s.stream, 0, 1)[0]
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 1))
		s.silence("a", id)
		a.Pulse(s.T)
		must(s, b.Claim(s.T))
		return when(len(b.Hand()) > 0, "a consumer that gave a sign of life was robbed")
	}},
	"a sign of life takes nothing back": {", ARGV[i], 1, ARGV[2])[1]", ", ARGV[i], 1)[1]", func(s scene) error {
		a, b := s.consumer("a"), s.consumer("b")
		id := publish(s, s.stream, 0, 1)[0]
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 1))
		s.silence("a", id)
		must(s, b.Claim(s.T))
		a.Pulse(s.T)
		return when(s.Settled(b, id) == 0, "the message was taken back from who had claimed it")
	}},
	"only its consumer gives a message up": {"ARGV[3], ARGV[3], 1, ARGV[2])[1]", "ARGV[3], ARGV[3], 1)[1]", func(s scene) error {
		a, b := s.consumer("a"), s.consumer("b")
		id := publish(s, s.stream, 0, 1)[0]
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 1))
		s.silence("a", id)
		must(s, b.Claim(s.T))
		a.Settle(s.T, id, "bury")
		stats, err := s.stream.Stats(s.Context())
		must(s, err)
		return when(stats.Dead > 0, "it was buried by who had lost it")
	}},
	"who ends takes nothing with it": {"if pending == 0 then", "if true then", func(s scene) error {
		a := s.consumer("a")
		publish(s, s.stream, 0, 1)
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 1))
		a.Leave()
		stats, err := s.stream.Stats(s.Context())
		must(s, err)
		return when(stats.Groups[0].Pending != 1, "a pending message went with its consumer")
	}},
	"who is gone takes nothing with it": {"is.name ~= ARGV[2] and is.pending == 0 and is.idle > tonumber(ARGV[9])", "is.name ~= ARGV[2]", func(s scene) error {
		a, b := s.consumer("a"), s.consumer("b")
		publish(s, s.stream, 0, 1)
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 1))
		must(s, b.Claim(s.T)) // it is not silent yet
		stats, err := s.stream.Stats(s.Context())
		must(s, err)
		return when(stats.Groups[0].Pending != 1, "a pending message went with its consumer")
	}},
	"what kills its consumers is given up": {"if pending[1][4] > tonumber(ARGV[5]) then", "if false then", func(s scene) error {
		id := publish(s, s.stream, 0, 1)[0]
		a := s.consumer("a")
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 1))
		for range 5 { // the consumer dies each time
			s.silence("a", id)
			must(s, s.consumer("b").Claim(s.T))
		}
		stats, err := s.stream.Stats(s.Context())
		must(s, err)
		return when(stats.Dead != 1 || stats.Groups[0].Pending != 0, "it goes round for ever")
	}},
	"what is given back is not counted": {"'RETRYCOUNT', math.max(pending[4] - 1, 0), ", "", func(s scene) error {
		id := publish(s, s.stream, 0, 1)[0]
		a := s.consumer("a")
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 1))
		a.Settle(s.T, id, "release")
		return when(count(s) != 0, "it counts as delivered")
	}},
	"what is given back is anybody's at once": {"'IDLE', ARGV[8], ", "", func(s scene) error {
		id := publish(s, s.stream, 0, 1)[0]
		a, b := s.consumer("a"), s.consumer("b")
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 1))
		a.Settle(s.T, id, "release")
		must(s, b.Claim(s.T))
		return when(len(b.Hand()) != 1, "nobody can claim it")
	}},
	"each delivery counts": {"redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3])\n", "", func(s scene) error {
		id := publish(s, s.stream, 0, 1)[0]
		a := s.consumer("a")
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 1))
		a.Settle(s.T, id, "again")
		return when(count(s) != 2, "another try is not counted")
	}},
	"a stream's key expires": {"  redis.call('PEXPIRE', KEYS[1], ARGV[3])\nend\nreturn id", "end\nreturn id", func(s scene) error {
		publish(s, journal(open(s, s.server.URL()), event.StreamConfig{Age: time.Hour}), 0, 1)
		return when(s.server.Do("PTTL", "journal").(int64) <= 0, "the key has no TTL")
	}},
	"an empty stream's key expires": {"ARGV[3] ~= '0' and redis.call('PTTL', KEYS[1]) == -1", "false", func(s scene) error {
		must(s, event.ConsumerOf(journal(open(s, s.server.URL()), event.StreamConfig{Age: time.Hour}), "g", event.RunOptions[note]{}).Create(s.T))
		return when(s.server.Do("PTTL", "journal").(int64) <= 0, "the key has no TTL")
	}},
	"old messages are trimmed": {"redis.call('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f', now - tonumber(ARGV[3])))", "", func(s scene) error {
		for i := range 300 { // older than the age by far, more than a node of the stream
			s.server.Do("XADD", "journal", fmt.Sprintf("%d-0", i+1), "timestamp", "1", "data", "{}")
		}
		publish(s, journal(open(s, s.server.URL()), event.StreamConfig{Age: time.Hour}), 0, 1)
		return when(s.server.Do("XLEN", "journal").(int64) > 150, "nothing was trimmed")
	}},
	"many messages are trimmed": {"if ARGV[2] ~= '0' then", "if false then", func(s scene) error {
		publish(s, journal(open(s, s.server.URL()), event.StreamConfig{MaxLen: 100}), 0, 500)
		return when(s.server.Do("XLEN", "journal").(int64) > 250, "nothing was trimmed")
	}},
	"what is not acknowledged is kept": {"if open[j] and ARGV[6] == '1' then goes = false end", "", func(s scene) error {
		publish(s, s.stream, 0, 10)
		a := s.consumer("a")
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 3))
		_, err := s.stream.Trim(s.Context(), event.Policy{MaxLen: 1, Keep: true, Apply: true})
		must(s, err)
		return when(s.server.Do("XLEN", "journal").(int64) != 10, "it was trimmed")
	}},
}

// Settled is the deliveries of a message, 0 if it is not the consumer's.
func (s scene) Settled(c event.Consumer[note], id string) int64 {
	return c.Settle(s.T, id, "release")
}

func count(s scene) int64 {
	return s.server.Do("XPENDING", "journal", "g", "-", "+", "1").([]any)[0].([]any)[3].(int64)
}

func when(wrong bool, what string) error {
	if wrong {
		return errors.New(what)
	}
	return nil
}

func TestLaws(t *testing.T) { each(t, false) }

// TestMutations shows that every guard matters.
func TestMutations(t *testing.T) { each(t, true) }

func each(t *testing.T, mutated bool) {
	for _, brand := range keywrighttest.Brands() {
		server := keywrighttest.Start(t, brand)
		for name, l := range laws {
			t.Run(string(brand)+" "+name, func(t *testing.T) {
				server.Do("FLUSHALL")
				if mutated {
					event.Mutate(t, l.guard, l.instead)
				}
				err := l.law(scene{t, server, journal(open(t, server.URL()), event.StreamConfig{})})
				if mutated != (err != nil) {
					t.Errorf("mutated: %t, broken: %v", mutated, err)
				}
			})
		}
	}
}
