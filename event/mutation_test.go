package event_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// scene represents a stream with what the laws below need.
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

// laws say what the scripts hold; each breaks when its guard is taken out.
var laws = map[string]struct {
	guard, instead string
	law            func(s scene) error
}{
	"a sign of life keeps a message": {"redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')", "",
		func(s scene) error {
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
		return when(!b.Begin(s.T, id, ""), "the message was taken back from the one that had claimed it")
	}},
	"only its consumer begins with a message": {"ARGV[3], ARGV[3], 1, ARGV[2])[1]\nif ARGV[5]",
		"ARGV[3], ARGV[3], 1)[1]\nif ARGV[5]", func(s scene) error {
			a, b := s.consumer("a"), s.consumer("b")
			id := publish(s, s.stream, 0, 1)[0]
			must(s, a.Create(s.T))
			must(s, a.Fetch(s.T, 1))
			s.silence("a", id)
			must(s, b.Claim(s.T))
			return when(a.Begin(s.T, id, ""), "two consumers have it")
		}},
	"only its consumer gives a message up": {"KEYS[1], group, id, id, 1, consumer)[1]",
		"KEYS[1], group, id, id, 1)[1]", func(s scene) error {
			a, b := s.consumer("a"), s.consumer("b")
			id := publish(s, s.stream, 0, 1)[0]
			must(s, a.Create(s.T))
			must(s, a.Fetch(s.T, 1))
			s.silence("a", id)
			must(s, b.Claim(s.T))
			a.Bury(s.T, id, errors.New("no"))
			stats, err := s.stream.Stats(s.Context())
			must(s, err)
			return when(stats.Dead > 0, "it was buried by the one that had lost it")
		}},
	"a burial that is asked again makes no second letter": {"if mine[4] >= buried then", "if false then",
		func(s scene) error { return buried(s, "the message was buried a second time") }},
	"what is buried and given back stays buried": {"mine[i][4] < buried and ARGV[i + 1] or mine[i][4]", "ARGV[i + 1]",
		func(s scene) error { return buried(s, "its mark is gone") }},
	"only its consumer gives a message back": {
		"mine[i] = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1, ARGV[2])",
		"mine[i] = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)",
		func(s scene) error {
			a, b := s.consumer("a"), s.consumer("b")
			id := publish(s, s.stream, 0, 1)[0]
			must(s, a.Create(s.T))
			must(s, a.Fetch(s.T, 1))
			s.silence("a", id)
			must(s, b.Claim(s.T))
			a.End(s.T)
			return when(!b.Begin(s.T, id, ""), "it was taken from the one that had claimed it")
		}},
	"one that ends takes nothing with it": {"== 0\nend\nfor i = 2", "~= nil\nend\nfor i = 2", func(s scene) error {
		a := s.consumer("a")
		publish(s, s.stream, 0, 1)
		must(s, a.Create(s.T))
		s.server.Do("XREADGROUP", "GROUP", "g", "a", "STREAMS", "journal", ">") // it does not know of it
		a.End(s.T)
		stats, err := s.stream.Stats(s.Context())
		must(s, err)
		return when(stats.Groups[0].Pending != 1, "a pending message went with its consumer")
	}},
	"what is given back is not counted": {"'RETRYCOUNT', count, ", "", func(s scene) error {
		id := publish(s, s.stream, 0, 1)[0]
		a := s.consumer("a")
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 1))
		// a beginning of which it does not know
		s.server.Do("XCLAIM", "journal", "g", "a", "0", id, "RETRYCOUNT", "2", "JUSTID")
		a.End(s.T)
		return when(count(s) != 1, "it counts as delivered")
	}},
	"what is given back is anybody's at once": {"'IDLE', ARGV[3], ", "", func(s scene) error {
		publish(s, s.stream, 0, 1)
		a, b := s.consumer("a"), s.consumer("b")
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 1))
		a.End(s.T)
		must(s, b.Claim(s.T))
		return when(len(b.Hand()) != 1, "no other one can claim it")
	}},
	"a delivery counts when it begins": {
		"redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', ARGV[4], 'JUSTID')", "",
		func(s scene) error {
			id := publish(s, s.stream, 0, 1)[0]
			a := s.consumer("a")
			must(s, a.Create(s.T))
			must(s, a.Fetch(s.T, 1))
			before := count(s)
			a.Begin(s.T, id, "")
			return when(before != 1 || count(s) != 2, "it is not counted")
		}},
	"a beginning acknowledges what is done": {"if ARGV[5] ~= '' then redis.call('XACK', KEYS[1], ARGV[1], ARGV[5]) end",
		"", func(s scene) error {
			ids := publish(s, s.stream, 0, 2)
			a := s.consumer("a")
			must(s, a.Create(s.T))
			must(s, a.Fetch(s.T, 2))
			a.Begin(s.T, ids[1], ids[0])
			stats, err := s.stream.Stats(s.Context())
			must(s, err)
			return when(stats.Groups[0].Pending != 1, "it is still pending")
		}},
	"a dead letter without contents stays": {"#letter > 10 and ", "", func(s scene) error {
		id := s.server.Do("XADD", "{journal}:dead", "*", "form", "1", "id", "1-1", "group", "g", "reason", "r", "deliveries",
			"5").(string)
		n, err := s.stream.Redrive(s.Context(), id)
		return when(err != nil || n != 0 || s.server.Do("XLEN", "{journal}:dead").(int64) != 1,
			"it is gone, or in the way of others")
	}},
	"a dead letter of a newer form stays": {"if letter[1] == 'form' and letter[2] ~= '1' then", "if false then",
		func(s scene) error {
			one := s.server.Do("XADD", "{journal}:dead", "*", "form", "1", "id", "1-1", "group", "g", "reason", "r",
				"deliveries",
				"5", "data", "{}").(string)
			two := s.server.Do("XADD", "{journal}:dead", "*", "form", "2", "a", "b", "c", "d", "e", "f", "g", "h", "i",
				"j").(string)
			n, err := s.stream.Redrive(s.Context(), one, two)
			newer := (*event.NewerForm)(nil)
			return when(n != 0 || !errors.As(err, &newer) || s.server.Do("XLEN", "{journal}:dead").(int64) != 2,
				"something has changed")
		}},
	"a stream's key expires": {"  redis.call('PEXPIRE', KEYS[1], ARGV[3])\nend\nreturn id", "end\nreturn id",
		func(s scene) error {
			publish(s, journal(open(s, s.server.URL()), event.StreamConfig{Age: time.Hour}), 0, 1)
			return when(s.server.Do("PTTL", "journal").(int64) <= 0, "the key has no TTL")
		}},
	"an empty stream's key expires": {"ARGV[3] ~= '0' and redis.call('PTTL', KEYS[1]) == -1", "false",
		func(s scene) error {
			must(s, event.ConsumerOf(journal(open(s, s.server.URL()), event.StreamConfig{Age: time.Hour}), "g",
				event.RunOptions[note]{}).Create(s.T))
			return when(s.server.Do("PTTL", "journal").(int64) <= 0, "the key has no TTL")
		}},
	"old messages are trimmed": {
		"redis.call('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f', now - tonumber(ARGV[3])))", "",
		func(s scene) error {
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
	"what is not acknowledged is kept": {"if open[j] and careful == '1' then goes = false end", "", func(s scene) error {
		publish(s, s.stream, 0, 10)
		a := s.consumer("a")
		must(s, a.Create(s.T))
		must(s, a.Fetch(s.T, 3))
		_, err := s.stream.Trim(s.Context(), event.Policy{MaxLen: 1, Keep: true, Apply: true})
		must(s, err)
		return when(s.server.Do("XLEN", "journal").(int64) != 10, "it was trimmed")
	}},
}

// buried lets a consumer end that has buried a message and not acknowledged it, and another one bury it.
func buried(s scene, what string) error {
	id := publish(s, s.stream, 0, 1)[0]
	a, b := s.consumer("a"), s.consumer("b")
	must(s, a.Create(s.T))
	must(s, a.Fetch(s.T, 1))
	s.server.Do("XCLAIM", "journal", "g", "a", "0", id, "RETRYCOUNT", "1099511627776", "JUSTID") // as bury leaves it
	a.End(s.T)
	must(s, b.Claim(s.T))
	b.Bury(s.T, id, errors.New("no"))
	return when(s.server.Do("XLEN", "{journal}:dead").(int64) != 0, what)
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
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
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
