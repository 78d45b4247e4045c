package pubsub

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// syncSubscriptions brings what the connection is subscribed to in line with what is
// wanted. Each channel is asked for by a command of its own, since the server
// refuses a whole command for one name. It reports whether something was refused
// that has listeners still.
func (s *Engine) syncSubscriptions(conn rueidis.DedicatedClient) (refused bool, err error) {
	join, leave := s.difference()
	ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
	defer cancel()
	for len(join) > 0 {
		some := join[:min(len(join), mostAsked)]
		join = join[len(some):]
		commands := make([]rueidis.Completed, len(some))
		for i, at := range some {
			commands[i] = subscribe(conn.B(), at)
		}
		for i, r := range conn.DoMulti(ctx, commands...) {
			switch err := r.Error(); {
			case err == nil:
				s.confirm(some[i])
			case s.hooks.Denies(err):
				refused = s.refuse(some[i], err) || refused
			default:
				return refused, err
			}
		}
	}
	for at, names := range leave {
		if len(names) > 0 {
			if err := conn.Do(ctx, unsubscribe(conn.B(), Way(at), names)).Error(); err != nil {
				return refused, err
			}
		}
	}
	return refused, nil
}

// mostAsked says how many channels are asked for in one go.
const mostAsked = 256

func subscribe(b rueidis.Builder, at Topic) rueidis.Completed {
	switch at.Way {
	case OfPattern:
		return b.Psubscribe().Pattern(at.Name).Build()
	case OfShard:
		return b.Ssubscribe().Channel(at.Name).Build()
	}
	return b.Subscribe().Channel(at.Name).Build()
}

func unsubscribe(b rueidis.Builder, way Way, names []string) rueidis.Completed {
	switch way {
	case OfPattern:
		return b.Punsubscribe().Pattern(names...).Build()
	case OfShard:
		return b.Sunsubscribe().Channel(names...).Build()
	}
	return b.Unsubscribe().Channel(names...).Build()
}

// difference returns the topics to subscribe to and those to unsubscribe from, by way.
func (s *Engine) difference() (join []Topic, leave [OfShard + 1][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, ch := range s.channels {
		switch {
		case len(ch.all) == 0:
			delete(s.channels, at)
			if ch.asked {
				leave[at.Way] = append(leave[at.Way], at.Name)
			}
		case !ch.asked:
			join = append(join, at)
		}
	}
	return join, leave
}

// confirm tells the callers that wait for the subscription, and the listeners that
// had one before that there was a gap.
func (s *Engine) confirm(at Topic) {
	s.mu.Lock()
	ch := s.channels[at]
	if ch == nil {
		s.mu.Unlock()
		return
	}
	var gaps []func()
	if ch.heard {
		for l := range ch.all {
			gaps = append(gaps, l.Gap)
		}
	} else {
		close(ch.answered)
	}
	ch.asked, ch.heard, ch.refused = true, true, nil
	s.mu.Unlock()
	for _, gap := range gaps {
		if gap != nil {
			gap()
		}
	}
}

// refuse tells the callers that wait for a subscription that the server has
// refused it. Listeners that had it before are notified once, and it is asked for
// again: it reports whether there are any.
func (s *Engine) refuse(at Topic, err error) bool {
	s.mu.Lock()
	ch := s.channels[at]
	if ch == nil {
		s.mu.Unlock()
		return false
	}
	again := ch.refused != nil
	ch.refused = err
	if !ch.heard {
		delete(s.channels, at)
		close(ch.answered)
		s.mu.Unlock()
		return false
	}
	var lost []func(error)
	for l := range ch.all {
		if l.Lost != nil && !again {
			lost = append(lost, l.Lost)
		}
	}
	s.mu.Unlock()
	if !again {
		s.hooks.Refused(s.ctx, err)
	}
	for _, tell := range lost {
		tell(err)
	}
	return true
}

// message is called by the reader of the connection. What comes for a pattern
// says so; a sharded message looks as any other, but has its own connection.
func (s *Engine) message(m rueidis.PubSubMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := Topic{OfChannel, m.Channel}
	switch {
	case m.Pattern != "":
		at = Topic{OfPattern, m.Pattern}
	case s.lean:
		at.Way = OfShard
	}
	if ch := s.channels[at]; ch != nil {
		for l := range ch.all {
			l.deliver(m.Channel, m.Message)
		}
	}
}
