package keywrighttest

import (
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed testdata/clock.c
var clockSource []byte

// MovableClock gives the server a clock that MoveClock moves. It is compiled by
// cc, for Linux; without a compiler the test fails.
func MovableClock() Option {
	return func(s *Server) {
		s.t.Helper()
		source, library := filepath.Join(s.Dir, "clock.c"), filepath.Join(s.Dir, "clock.so")
		s.clock = filepath.Join(s.Dir, "clock")
		must(s.t, os.WriteFile(source, clockSource, 0o600))
		s.MoveClock(0)
		if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", library, source).CombinedOutput(); err != nil {
			s.t.Fatalf("cc: %v: run scripts/install-test-deps.sh\n%s", err, out)
		}
		s.env = append(s.env, "LD_PRELOAD="+library, "KEYWRIGHT_CLOCK="+s.clock)
	}
}

// MoveClock sets the server's clock so far ahead of this machine's (after it, if
// negative), at once and while the server works. It needs MovableClock.
func (s *Server) MoveClock(ahead time.Duration) {
	s.t.Helper()
	s.setClock(ahead.Microseconds(), 0)
}

// FreezeClock sets the server's clock to a time, where it stays until the next step. It
// needs MovableClock.
func (s *Server) FreezeClock(at time.Time) {
	s.t.Helper()
	s.setClock(0, at.UnixMicro())
}

func (s *Server) setClock(ahead, at int64) {
	s.t.Helper()
	f, err := os.OpenFile(s.clock, os.O_CREATE|os.O_WRONLY, 0o600) // not truncated: the server has it mapped
	must(s.t, err)
	numbers := binary.NativeEndian.AppendUint64(nil, uint64(ahead))
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(numbers, uint64(at)), 0)
	must(s.t, err)
	must(s.t, f.Close())
}
