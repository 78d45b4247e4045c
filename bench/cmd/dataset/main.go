// Command dataset writes the benchmark keyspace as RESP to standard output, or
// with -addr loads it into an empty server.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"

	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/harness"
)

func main() { harness.Main("dataset", run) }

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o dataset.Options
	flags := flag.NewFlagSet("dataset", flag.ContinueOnError)
	flags.IntVar(&o.Keys, "keys", 1_000_000, "number of keys")
	flags.Uint64Var(&o.Seed, "seed", 1, "seed; the same seed gives the same bytes")
	addr := flags.String("addr", "", "host:port of an empty server to load (default: RESP on stdout)")
	manifest := flags.String("manifest", "", "file for the ground truth as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m, err := generate(ctx, *addr, stdout, o)
	if err != nil || *manifest == "" {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*manifest, append(text, '\n'), 0o644)
}

func generate(ctx context.Context, addr string, stdout io.Writer, o dataset.Options) (*dataset.Manifest, error) {
	if addr != "" {
		return dataset.Load(ctx, addr, o)
	}
	out := bufio.NewWriter(stdout)
	m, err := dataset.Write(out, o)
	if err != nil {
		return nil, err
	}
	return m, out.Flush()
}
