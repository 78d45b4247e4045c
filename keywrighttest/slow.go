package keywrighttest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// longTries says how often [Server.lasting] runs what may be long only because the machine
// is busy.
const longTries = 6

// Long runs do and gives the commands and scripts that have too much to do, by what
// they send ([Server.much]): no clock decides. With KEYWRIGHT_SOAK, on a quiet machine,
// it gives those, too, that hold the server for longer than limit.
func (s *Server) Long(limit time.Duration, do func()) (long []string) {
	s.t.Helper()
	if os.Getenv("KEYWRIGHT_SOAK") != "" {
		long = s.lasting(limit, do)
	}
	return append(long, s.much(do)...)
}

// lasting gives the commands and scripts that held the server for longer than limit, by
// its slow log. A busy machine takes the processor away in the middle
// of a short command: what is long is held against how much a script that always does
// the same varies at that time, do runs again while some command is long, and only what
// is long each time is given. What has too much to do is. A COPY is for the test itself.
func (s *Server) lasting(limit time.Duration, do func()) (long []string) {
	s.t.Helper()
	defer s.first()()
	s.Do("CONFIG", "SET", "slowlog-log-slower-than", strconv.FormatInt(limit.Microseconds(), 10), "slowlog-max-len",
		"10000")
	defer s.Do("CONFIG", "SET", "slowlog-log-slower-than", "10000000")
	for try := range longTries {
		s.Do("SLOWLOG", "RESET")
		began := time.Now()
		do()
		took := time.Since(began)
		names := s.slow(limit)
		if len(names) > 0 {
			rows, _ := s.Do("SLOWLOG", "GET", "10000").([]any)
			names = slower(rows, limit+s.noise(limit, min(took, 3*time.Second)))
		}
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

// first puts the server's main thread before all that runs on the machine, where the
// test may do that (as root), until the function that it gives is called.
func (s *Server) first() (back func()) {
	pid := s.PID()
	if !hurry(pid, -20) {
		return func() {}
	}
	return func() { _ = hurry(pid, 0) }
}

// noise returns how much longer than at its best a script of about a millisecond takes at
// its worst, over a time as long as what it is held against took.
func (s *Server) noise(limit, while time.Duration) time.Duration {
	s.t.Helper()
	s.Do("CONFIG", "SET", "slowlog-log-slower-than", "0")
	s.Do("SLOWLOG", "RESET")
	for end := time.Now().Add(while); ; {
		s.Do("EVAL", "local sum = 0 for i = 1, 100000 do sum = sum + i end return sum", "0")
		if time.Now().After(end) {
			break
		}
	}
	s.Do("CONFIG", "SET", "slowlog-log-slower-than", strconv.FormatInt(limit.Microseconds(), 10))
	rows, _ := s.Do("SLOWLOG", "GET", "10000").([]any)
	s.Do("SLOWLOG", "RESET")
	var took []int64
	for _, row := range rows {
		if columns := row.([]any); fmt.Sprint(columns[3].([]any)[0]) == "EVAL" {
			took = append(took, columns[2].(int64))
		}
	}
	if len(took) == 0 {
		return 0
	}
	return time.Duration(slices.Max(took)-slices.Min(took)) * time.Microsecond
}

// slow returns the names of the commands in the slow log that took longer than limit: of
// scripts with their hash, or the first part of their text.
func (s *Server) slow(limit time.Duration) []string {
	s.t.Helper()
	rows, _ := s.Do("SLOWLOG", "GET", "10000").([]any)
	return slower(rows, limit)
}

// own lists the commands that a test sends for itself: COPY makes again what do begins
// with.
var own = []string{"CONFIG", "SLOWLOG", "COPY"}

func slower(rows []any, limit time.Duration) (names []string) {
	for _, row := range rows {
		columns := row.([]any)
		words := columns[3].([]any)
		name := fmt.Sprint(words[0])
		if len(words) > 1 && len(name) > 3 && (name[0]|0x20) == 'e' { // EVAL and EVALSHA
			name = fmt.Sprintf("%s %.40s", name, words[1])
		}
		took := time.Duration(columns[2].(int64)) * time.Microsecond
		if took > limit && !slices.Contains(own, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
