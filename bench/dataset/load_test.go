package dataset_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/live"
)

// What the server counts is what the manifest says.
func TestLoad(t *testing.T) {
	for _, binary := range []string{"redis-server", "valkey-server"} {
		t.Run(binary, func(t *testing.T) {
			server := start(t, binary)
			m, err := dataset.Load(t.Context(), server.Addr, dataset.Options{Keys: 20_000, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			info, err := server.Info("keyspace")
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("keys=20000,expires=%d,", m.WithTTL)
			if !strings.HasPrefix(info["db0"], want) {
				t.Errorf("INFO keyspace: db0:%s, want %s", info["db0"], want)
			}
			if _, err := dataset.Load(t.Context(), server.Addr, dataset.Options{Keys: 1}); err == nil {
				t.Error("loading into a database that is not empty: want an error")
			}
		})
	}
}

func TestLoadFailsOnAnErrorReply(t *testing.T) {
	server := start(t, "redis-server")
	command(t, server.Addr, "CONFIG", "SET", "maxmemory", "1")
	_, err := dataset.Load(t.Context(), server.Addr, dataset.Options{Keys: 100_000})
	if err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("a server without memory: got error %v, want its OOM reply", err)
	}
}

func TestLoadStopsWithItsContext(t *testing.T) {
	server := start(t, "redis-server")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dataset.Load(ctx, server.Addr, dataset.Options{Keys: 1000}); err == nil {
		t.Error("want an error")
	}
}

func start(t *testing.T, binary string) *live.Server {
	t.Helper()
	server, err := live.Start(t.Context(), binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}

func command(t *testing.T, addr string, words ...string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(word), word)
	}
	reply := make([]byte, 5)
	if _, err := conn.Read(reply); err != nil || string(reply) != "+OK\r\n" {
		t.Fatalf("%v: reply %q, error %v", words, reply, err)
	}
}
