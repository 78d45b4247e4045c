package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain runs a bare loop, if this process is one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-child" {
		if err := benchmark().Run(context.Background(), os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// All contestants run to their end, and every part has its goals.
func TestMoves(t *testing.T) {
	var out strings.Builder
	if err := benchmark().Run(t.Context(), []string{"-keys", "5000", "-rounds", "1", "-servers", "valkey-server"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"backup by SCAN", "backup by snapshot", "÷ redis-cli --rdb",
		"restore into an empty server", "copy to an empty server", "verify two servers", "speed of verify ÷ bare loop",
		"speed of rename ÷ bare loop", "redis-cli --pipe", "redis-benchmark SET"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q:\n%s", want, out.String())
		}
	}
}

func TestWrongArguments(t *testing.T) {
	for want, args := range map[string][]string{
		"-no-such":       {"-no-such"},
		"no-such-server": {"-servers", "no-such-server", "-keys", "10"},
		"-child":         {"-child", "other"},
	} {
		if err := benchmark().Run(t.Context(), args, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
