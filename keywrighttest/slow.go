package keywrighttest

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// longTries is how often [Server.Long] runs what may be long only because the machine
// is busy.
const longTries = 6

// Long runs do and gives the commands and scripts that held the server for longer
// than limit, by its slow log. A busy machine takes the processor away in the middle
// of a short command: do runs again while some command is long, and only what is
// long each time is given. What has too much to do is.
func (s *Server) Long(limit time.Duration, do func()) (long []string) {
	s.t.Helper()
	s.Do("CONFIG", "SET", "slowlog-log-slower-than", strconv.FormatInt(limit.Microseconds(), 10), "slowlog-max-len", "10000")
	defer s.Do("CONFIG", "SET", "slowlog-log-slower-than", "10000000")
	for try := range longTries {
		s.Do("SLOWLOG", "RESET")
		do()
		names := s.slow()
		if try == 0 {
			long = names
		} else {
			long = slices.DeleteFunc(long, func(name string) bool { return !slices.Contains(names, name) })
		}
		if len(long) == 0 {
			return nil
		}
	}
	return long
}

// slow are the names of the commands in the slow log: of scripts with their hash, or
// the first part of their text.
func (s *Server) slow() (names []string) {
	s.t.Helper()
	rows, _ := s.Do("SLOWLOG", "GET", "10000").([]any)
	for _, row := range rows {
		words := row.([]any)[3].([]any)
		name := fmt.Sprint(words[0])
		if len(words) > 1 && len(name) > 3 && (name[0]|0x20) == 'e' { // EVAL and EVALSHA
			name = fmt.Sprintf("%s %.40s", name, words[1])
		}
		if name != "CONFIG" && name != "SLOWLOG" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
