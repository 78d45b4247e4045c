package poppobuilder

import (
	"context"
	"errors"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
)

// upkeep is what one daemon at a time does: it finds the dead, takes a sample and
// cleans up.
func (d *Daemon) upkeep(ctx context.Context) error {
	lease, err := d.keys.LockUpkeep().Try(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, stop := after(ctx)
		defer stop()
		_ = lease.Release(ctx)
	}()
	ctx = lease.Context()
	return errors.Join(d.findDead(ctx), d.sample(ctx), d.cleanUp(ctx))
}

// sample writes the CPU use of this process since it began, and its memory.
func (d *Daemon) sample(ctx context.Context) error {
	percent, err := usedCPU()
	if err != nil {
		return err
	}
	used := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(used)
	memory := poppokeys.MetricsMemoryHistoryValue{UsedBytes: int64(used[0].Value.Uint64()), RSSBytes: int64(used[1].Value.Uint64())}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil { // Linux knows it better
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				memory.RSSBytes = pages * int64(os.Getpagesize())
			}
		}
	}
	_, err = d.keys.MetricsMemoryHistory().Add(ctx, memory)
	return errors.Join(err, d.keys.MetricsCPUCurrent().Set(ctx, percent))
}

var began = time.Now()

// usedCPU is the CPU time of this process as a part of its life, in percent of one
// core.
func usedCPU() (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	spent := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	return 100 * spent.Seconds() / max(time.Since(began).Seconds(), 0.001), nil
}

// scratch is what a clean-up may take: the rules under cleanup of keyspace.yaml.
var scratch = []struct {
	keys string // after the namespace
	idle time.Duration
}{
	{":temp:*", time.Hour}, {":session:expired:*", 24 * time.Hour}, {":stats:*:old", 24 * time.Hour},
}

// forget deletes a key that nobody has touched for so many seconds, in one step.
const forget = `if redis.call('OBJECT', 'IDLETIME', KEYS[1]) < tonumber(ARGV[1]) then return 0 end return redis.call('UNLINK', KEYS[1])`

// cleanUp deletes scratch keys that are idle: a page of SCAN at a time, which holds
// the server for no longer than a page takes.
func (d *Daemon) cleanUp(ctx context.Context) error {
	raw, ns := d.keys.Client().Raw(), d.keys.Namespace().String()
	for _, rule := range scratch {
		for cursor := uint64(0); ; {
			page, err := raw.Do(ctx, raw.B().Scan().Cursor(cursor).Match(ns+rule.keys).Count(100).Build()).AsScanEntry()
			if err != nil {
				return err
			}
			for _, key := range page.Elements {
				seconds := strconv.FormatInt(int64(rule.idle/time.Second), 10)
				if err := raw.Do(ctx, raw.B().Eval().Script(forget).Numkeys(1).Key(key).Arg(seconds).Build()).Error(); err != nil && !strings.Contains(err.Error(), "no such key") {
					return err
				}
			}
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
	return nil
}
