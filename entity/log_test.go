package entity

import (
	"encoding/json"
	"fmt"

	"github.com/keywright/keywright/keywrighttest"
)

// entryOfLog represents one message of a stream.
type entryOfLog struct {
	id        string // of the entry
	timestamp string
	data      map[string]any
	raw       string
	bad       error
}

// read gives all messages of a stream.
func readLog(s asked, stream string) (out []entryOfLog) {
	for after := "-"; ; {
		page := s.Do("XRANGE", stream, after, "+", "COUNT", "10000").([]any)
		for _, e := range page {
			pair := e.([]any)
			m := entryOfLog{id: fmt.Sprint(pair[0])}
			texts := pair[1].([]any)
			for i := 0; i+1 < len(texts); i += 2 {
				switch fmt.Sprint(texts[i]) {
				case "timestamp":
					m.timestamp = fmt.Sprint(texts[i+1])
				case "data":
					m.raw = fmt.Sprint(texts[i+1])
					m.bad = json.Unmarshal([]byte(m.raw), &m.data)
				}
			}
			out = append(out, m)
		}
		if len(page) < 10000 {
			return out
		}
		after = "(" + out[len(out)-1].id
	}
}

// logged gives the data of all messages of a stream.
func logged(s *keywrighttest.Server, stream string) (out []string) {
	for _, m := range readLog(s, stream) {
		out = append(out, m.raw)
	}
	return out
}
