package live

import (
	"net"
	"strings"
	"testing"
)

func TestServerCountsAndEnds(t *testing.T) {
	for _, binary := range []string{"redis-server", "valkey-server"} {
		t.Run(binary, func(t *testing.T) {
			s, err := Start(t.Context(), binary)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			if cpu, err := s.CPU(); err != nil || cpu <= 0 {
				t.Errorf("CPU of the main thread: %v, %v", cpu, err)
			}
			before, err := s.Calls()
			if err != nil {
				t.Fatal(err)
			}
			after, err := s.Calls()
			if err != nil {
				t.Fatal(err)
			}
			if n := after["info"] - before["info"]; n != 1 {
				t.Errorf("one INFO was counted as %d", n)
			}
			s.Stop()
			if conn, err := net.Dial("tcp", s.Addr); err == nil {
				conn.Close()
				t.Error("the server still answers after Stop")
			}
		})
	}
}

func TestMissingBinaryIsAnError(t *testing.T) {
	_, err := Start(t.Context(), "no-such-server")
	if err == nil || !strings.Contains(err.Error(), "no-such-server") {
		t.Errorf("got %v, want an error that names the binary", err)
	}
}
