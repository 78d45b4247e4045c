package poppobuilder

import (
	"context"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
)

// sampleMemory writes what this process uses.
func (d *Daemon) sampleMemory(ctx context.Context) error {
	used := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(used)
	memory := poppokeys.MetricsMemoryHistoryValue{UsedBytes: int64(used[0].Value.Uint64()),
		RSSBytes: int64(used[1].Value.Uint64()), By: d.o.Name}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil { // Linux knows it better
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				memory.RSSBytes = pages * int64(os.Getpagesize())
			}
		}
	}
	_, err := d.keys.MetricsMemoryHistory().Add(memory).Do(ctx)
	return err
}

// sampleCPU writes how busy the machine was since the last look of this daemon.
func (d *Daemon) sampleCPU(ctx context.Context) error {
	now := readLoad()
	percent, ok := now.since(d.load)
	if !ok {
		return nil
	}
	d.load = now
	return d.keys.MetricsCPUCurrent().Set(percent).Do(ctx)
}

// load describes how long CPUs were busy, of how long they were there.
type load struct{ busy, total float64 }

// since returns the use between two looks, in percent; false if no time has passed.
func (l load) since(before load) (percent float64, ok bool) {
	total := l.total - before.total
	return 100 * min(max((l.busy-before.busy)/total, 0), 1), total > 0
}

// readLoad looks at the machine; where it cannot be asked, at this process.
func readLoad() load {
	if text, err := os.ReadFile("/proc/stat"); err == nil {
		if l, ok := parseLoad(string(text)); ok {
			return l
		}
	}
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return load{time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), time.Since(began).Seconds()}
}

var began = time.Now()

// parseLoad reads the first line of /proc/stat: user, nice, system, idle, iowait, …
func parseLoad(stat string) (l load, ok bool) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[0] != "cpu" {
		return l, false
	}
	for i, f := range fields[1:min(len(fields), 9)] { // guests are in user and nice
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return l, false
		}
		l.total += n
		if i != 3 && i != 4 {
			l.busy += n
		}
	}
	return l, true
}
