package server

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
)

// Bounds of what is read of one value.
const (
	maxString   = 1 << 20
	maxElements = 100
)

// values reads the values that the request asks for, in one round trip per
// batch.
func (w *walk) values(batch []source.Key) error {
	c := w.sh.conn
	var wanted []*source.Key
	for i := range batch {
		k := &batch[i]
		if !w.req.Values(k.Name, k.Kind) {
			continue
		}
		if args, ok := valueCommands[k.Kind]; ok {
			c.Header(len(args) + 1)
			c.Arg(args[0])
			c.ArgBytes(k.Name)
			for _, a := range args[1:] {
				c.Arg(a)
			}
			wanted = append(wanted, k)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if err := c.Flush(); err != nil {
		return err
	}
	for _, k := range wanted {
		reply, err := c.Any()
		var answer *wire.ServerError
		if errors.As(err, &answer) {
			if answer.Code == "WRONGTYPE" {
				continue // changed meanwhile
			}
			if answer.Code == "NOPERM" {
				w.mu.Lock()
				w.notes = appendNew(w.notes, "some values are unknown: "+answer.Message)
				w.mu.Unlock()
				continue
			}
		}
		if err != nil {
			return err
		}
		k.Value = decodeValue(k.Kind, reply)
	}
	return nil
}

// valueCommands read a bounded part of a value; the key comes second.
var valueCommands = map[source.Kind][]string{
	source.String: {"GETRANGE", "0", strconv.Itoa(maxString - 1)},
	source.List:   {"LRANGE", "0", strconv.Itoa(maxElements - 1)},
	source.Set:    {"SSCAN", "0", "COUNT", strconv.Itoa(maxElements)},
	source.ZSet:   {"ZSCAN", "0", "COUNT", strconv.Itoa(maxElements)},
	source.Hash:   {"HSCAN", "0", "COUNT", strconv.Itoa(maxElements)},
	source.Stream: {"XRANGE", "-", "+", "COUNT", "20"},
}

func decodeValue(kind source.Kind, reply any) *source.Value {
	v := &source.Value{}
	switch r := reply.(type) {
	case string:
		v.Str = []byte(r)
		v.Partial = len(r) == maxString
	case []any:
		decodeElements(v, kind, r)
	default:
		return nil
	}
	return v
}

func decodeElements(v *source.Value, kind source.Kind, r []any) {
	switch kind {
	case source.List:
		v.Elements = texts(r)
		v.Partial = len(r) == maxElements
	case source.Stream:
		for _, entry := range r {
			if pair, ok := entry.([]any); ok && len(pair) == 2 {
				if fields, ok := pair[1].([]any); ok {
					v.Elements = append(v.Elements, texts(fields)...)
				}
			}
		}
		v.Partial = len(r) == 20
	default:
		if len(r) != 2 {
			return
		}
		v.Partial = fmt.Sprint(r[0]) != "0"
		list, _ := r[1].([]any)
		all := texts(list)
		if kind != source.ZSet {
			v.Elements = all
			return
		}
		for i := 0; i+1 < len(all); i += 2 {
			score, err := strconv.ParseFloat(string(all[i+1]), 64)
			if err != nil {
				continue
			}
			v.Elements, v.Scores = append(v.Elements, all[i]), append(v.Scores, score)
		}
	}
}

func texts(list []any) [][]byte {
	out := make([][]byte, 0, len(list))
	for _, item := range list {
		s, _ := item.(string)
		out = append(out, []byte(s))
	}
	return out
}
