package alert

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/keywright/keywright/source"
)

// Silence keeps alerts of some ids from being reported, until its end.
type Silence struct {
	Glob string
	End  time.Time
}

// Bounds of the file of silences.
const (
	maxSilences    = 1000
	maxSilenceFile = 1 << 20
)

// ReadSilences reads lines of a glob for ids, an end, and words that say why. Lines that
// begin with # are comments.
func ReadSilences(path string) ([]Silence, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Silence
	text, err := readSome(f, path, maxSilenceFile)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 2 {
			return nil, fmt.Errorf("%s:%d: a silence has an end, as in default/queue/* 2026-12-01T00:00:00Z", path, n)
		}
		end, err := time.Parse(time.RFC3339, words[1])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: the end of a silence is a time as in 2026-12-01T00:00:00Z", path, n)
		}
		if len(out) == maxSilences {
			return nil, fmt.Errorf("%s: there are more than %d silences", path, maxSilences)
		}
		out = append(out, Silence{words[0], end})
	}
	return out, lines.Err()
}

// readSome reads a file, and refuses one that is larger than it may be: a part of it would say
// something else.
func readSome(r io.Reader, path string, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is too large: at most %d bytes of it are read", path, most)
	}
	return text, err
}

// Silent reports whether an id is silenced at a time.
func Silent(all []Silence, id string, at time.Time) bool {
	for _, s := range all {
		if at.Before(s.End) && source.Glob([]byte(s.Glob), []byte(id)) {
			return true
		}
	}
	return false
}
