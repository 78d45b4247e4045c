package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/migrate/phase"
)

// plan describes what a plan of a file took.
type plan struct {
	Records int64
	Took    time.Duration
	Memory  int64 // the most that the process had in memory
}

// plans plans a file of a quarter of the size, and one of the size, each in a process.
func (o *options) plans(ctx context.Context, out *report.Report) error {
	t := out.Table("Plan of a file", "MiB", "records", "seconds", "MiB of memory")
	var took []float64
	var most int64
	for _, size := range []int64{o.size / 4, o.size} {
		p, err := o.plan(ctx, size)
		if err != nil {
			return err
		}
		t.Add(size>>20, p.Records, fmt.Sprintf("%.1f", p.Took.Seconds()), p.Memory>>20)
		took, most = append(took, p.Took.Seconds()), max(most, p.Memory)
	}
	out.AtMost(64, float64(most>>20), "MiB of memory for a plan")
	out.AtMost(1.25, took[1]/4/took[0], "time of a plan ÷ four times that of a quarter")
	return nil
}

func (o *options) plan(ctx context.Context, size int64) (p plan, err error) {
	root, err := os.MkdirTemp("", "keywright-migratebench-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(root)
	if err := write(filepath.Join(root, "state.json"), 0, size); err != nil {
		return p, err
	}
	own, err := os.Executable()
	if err != nil {
		return p, err
	}
	text, err := exec.CommandContext(ctx, own, "-child", root, "-server", o.Server).Output()
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	return p, err
}

// planned plans a folder and prints what it took.
func (o *options) planned(ctx context.Context, folder string, stdout io.Writer) error {
	server, err := o.Start(ctx, o.Server)
	if err != nil {
		return err
	}
	f := &field{server: server, root: folder}
	defer func() { _ = f.m.Close(); f.client.Close() }()
	if err := f.begin(ctx, "strings", phase.Off); err != nil {
		return err
	}
	began := time.Now()
	p, err := f.m.Plan(ctx, "all")
	if err == nil && !p.RoundTrip {
		err = fmt.Errorf("%v", p.Faults)
	}
	memory, failed := highest()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(plan{p.Records, time.Since(began), memory})
}

// highest returns the most that this process had in memory.
func highest() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.Fields(kib)[0], 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.Join(err, errors.New("VmHWM is not there"))
}
