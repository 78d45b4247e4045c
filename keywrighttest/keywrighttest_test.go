package keywrighttest

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func each(t *testing.T, f func(*testing.T, Brand)) {
	for _, b := range Brands() {
		t.Run(string(b), func(t *testing.T) { t.Parallel(); f(t, b) })
	}
}

func TestServer(t *testing.T) {
	each(t, func(t *testing.T, b Brand) {
		s := Start(t, b)
		s.Do("SET", "a", "1")
		stop := s.Monitor()
		s.Do("GET", "a")
		if lines := stop(); len(lines) != 1 || !strings.Contains(lines[0], `"GET" "a"`) {
			t.Errorf("monitor saw %q", lines)
		}
		before := s.Info("run_id")
		s.Restart()
		if s.Info("run_id") == before || s.Do("EXISTS", "a") != int64(0) {
			t.Error("the server was not restarted")
		}
		pid := s.PID()
		s.Kill()
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Error("the server is still there")
		}
	})
}

func TestCluster(t *testing.T) {
	each(t, func(t *testing.T, b Brand) {
		c := StartCluster(t, b, 3, 1)
		c.MoveSlots(0, 1, 3)
		c.Failover(3)
	})
}

func TestSentinel(t *testing.T) {
	each(t, func(t *testing.T, b Brand) {
		s := StartSentinel(t, b, 1, 3)
		if !strings.HasPrefix(s.URL(), "redis+sentinel://127.0.0.1:") {
			t.Error(s.URL())
		}
	})
}

func TestProxyCuts(t *testing.T) {
	s := Start(t, Redis)
	s.Do("SET", "big", strings.Repeat("x", 100_000))
	p := NewProxy(t, s.Addr(), Rules{CutAfter: 1000, CutTimes: 1})
	get := func() int {
		c, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET big\r\n")
		total, buf := 0, make([]byte, 65536)
		for total < 100_000 {
			n, err := c.Read(buf)
			total += n
			if err != nil {
				break
			}
		}
		return total
	}
	if n := get(); n >= 100_000 {
		t.Errorf("the first connection passed %d bytes", n)
	}
	if n := get(); n < 100_000 {
		t.Errorf("the second connection passed %d bytes only", n)
	}
}
