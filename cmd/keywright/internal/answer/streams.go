package answer

import (
	"context"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace/finding"
)

// Streams holds streams and their consumer groups; its JSON names are stable.
type Streams struct {
	Streams []Stream `json:"streams"`
	Gaps
}

// Stream represents one stream.
type Stream struct {
	Entry  string          `json:"entry"`
	Key    finding.JSONKey `json:"key"`
	Length int64           `json:"length"`
	LastID string          `json:"last_id"`
	Groups []StreamGroup   `json:"groups"`
}

// StreamGroup represents a consumer group of a stream.
type StreamGroup struct {
	Name      finding.JSONKey `json:"name"`
	Consumers int64           `json:"consumers"`
	Pending   int64           `json:"pending"` // delivered, and not acknowledged
	LastID    string          `json:"last_delivered_id"`
	Lag       *int64          `json:"lag,omitempty"` // entries not delivered yet; absent: the server does not know
}

// ReadStreams reads streams by key; entries are their entries, by key.
func (r *Reader) ReadStreams(ctx context.Context, keys []string, entries map[string]string) (Streams, error) {
	report := Streams{Streams: []Stream{}}
	err := readInOrder(ctx, r, keys, costs[string](streamCost), func(key string) (Stream, error) {
		return r.stream(ctx, key)
	}, func(key string, one Stream, err error) error {
		refused, ok := kernel.IsServerError(err)
		if kernel.IsNil(err) || ok && strings.HasSuffix(refused.Error(), "no such key") { // it is gone
			return nil
		}
		if err != nil {
			return report.Pass(ctx, entries[key], key, failedRead(r.Client, err))
		}
		one.Entry = entries[key]
		report.Streams = append(report.Streams, one)
		return nil
	})
	return report, err
}

// failedRead returns an error of a command as other readings have it.
func failedRead(c *keywright.Client, err error) error {
	class := keywright.Retryable
	if _, refused := kernel.IsServerError(err); refused {
		class = keywright.Refused
	}
	return &keywright.Error{Class: class, Op: "xinfo", Server: c.Server(), Err: err}
}

func (r *Reader) stream(ctx context.Context, key string) (Stream, error) {
	raw := r.Client.Raw()
	replies := raw.DoMulti(ctx, raw.B().XinfoStream().Key(key).Build(), raw.B().XinfoGroups().Key(key).Build())
	out := Stream{Key: finding.JSONKey(key), Groups: []StreamGroup{}}
	about, err := replies[0].AsMap()
	if err != nil {
		return out, err
	}
	out.Length, out.LastID = integer(about["length"]), text(about["last-generated-id"])
	groups, err := replies[1].ToArray()
	if err != nil {
		return out, err
	}
	for _, g := range groups {
		m, err := g.AsMap()
		if err != nil {
			return out, err
		}
		one := StreamGroup{Name: finding.JSONKey(text(m["name"])), Consumers: integer(m["consumers"]),
			Pending: integer(m["pending"]),
			LastID:  text(m["last-delivered-id"])}
		if lag, ok := m["lag"]; ok && !lag.IsNil() {
			n := integer(lag)
			one.Lag = &n
		}
		out.Groups = append(out.Groups, one)
	}
	return out, nil
}

func integer(m kernel.Value) int64 { n, _ := m.AsInt64(); return n }

func text(m kernel.Value) string { s, _ := m.ToString(); return s }
