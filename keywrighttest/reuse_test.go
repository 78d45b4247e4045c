package keywrighttest

import (
	"fmt"
	"os"
	"testing"
)

// TestAServerIsUsedAgain: what commands can undo is undone, and a server with any other trace of a test is not used
// again.
func TestAServerIsUsedAgain(t *testing.T) {
	was := reuses
	reuses = true
	t.Cleanup(func() { reuses = was })
	for _, brand := range Brands() {
		for _, c := range []struct {
			about string
			do    func(s *Server)
			again bool
		}{
			{"nothing", func(*Server) {}, true},
			{"keys", func(s *Server) { s.Do("SET", "a", "1"); s.Do("SELECT", "3") }, true},
			{"a script", func(s *Server) { s.Do("SCRIPT", "LOAD", "return 1") }, true},
			{"a function", func(s *Server) {
				s.Do("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() return 1 end)")
			}, true},
			{"a pause", func(s *Server) { s.Do("CLIENT", "PAUSE", "100000", "WRITE") }, true},
			{"no expiry", func(s *Server) { s.Do("DEBUG", "SET-ACTIVE-EXPIRE", "0") }, true},
			{"a setting and back", func(s *Server) { s.Do("CONFIG", "SET", "hz", "20"); s.Do("CONFIG", "SET", "hz", "10") },
				true},
			{"a setting", func(s *Server) { s.Do("CONFIG", "SET", "maxmemory", "20mb") }, false},
			{"a user", func(s *Server) { s.Do("ACL", "SETUSER", "ann", "on", "nopass", "+@all", "~*") }, false},
			{"a role", func(s *Server) { s.Do("REPLICAOF", "127.0.0.1", "1") }, false},
			{"a file", func(s *Server) { s.Do("SET", "a", "1"); s.Do("SAVE") }, false},
			{"a restart", func(s *Server) { s.Restart() }, false},
			{"a kill", func(s *Server) { s.Kill() }, false},
			{"a freeze", func(s *Server) { s.Stop() }, false},
		} {
			var first, dir string
			t.Run(fmt.Sprintf("%s/%s", brand, c.about), func(t *testing.T) {
				s := Start(t, brand)
				first, dir = s.Info("run_id"), s.Dir
				c.do(s)
			})
			t.Run(fmt.Sprintf("%s/%s/next", brand, c.about), func(t *testing.T) {
				s := Start(t, brand)
				if again := s.Info("run_id") == first; again != c.again {
					t.Fatalf("used again: %v", again)
				}
				if _, err := os.Stat(dir); (err == nil) != c.again {
					t.Errorf("its folder: %v", err)
				}
				for _, port := range []int{s.Port, s.Port + 1000} {
					if locks := reserve(portLocks(t), port); locks != nil {
						release(locks)
						t.Errorf("%d was given away", port)
					}
				}
				if n := s.Do("DBSIZE"); fmt.Sprint(n) != "0" {
					t.Errorf("%v keys are left", n)
				}
				if got := s.Do("SET", "b", "1", "PX", "1"); fmt.Sprint(got) != "OK" {
					t.Error(got)
				}
				if n := s.Info("number_of_functions") + s.Info("number_of_cached_scripts"); n != "00" {
					t.Errorf("functions and scripts: %s", n)
				}
			})
		}
	}
}
