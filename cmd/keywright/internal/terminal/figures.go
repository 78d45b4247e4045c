package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace/finding"
)

// Count returns a number with its thousands apart.
func Count(n int64) string { return finding.Grouped(n) }

// Plural returns a count of things.
func Plural(n int64, word string) string {
	if n != 1 {
		word += "s"
	}
	return Count(n) + " " + word
}

// Bytes returns a size in binary units.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		if f /= 1024; f < 999.95 {
			return fmt.Sprintf("%.1f %s", f, unit)
		}
	}
	return fmt.Sprintf("%.1f TiB", f/1024)
}

var units = []struct {
	size time.Duration
	name string
}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}

// Duration returns a time as people say it: two units at most.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + "s"
	}
	i := 0
	for d < units[i].size {
		i++
	}
	n := d / units[i].size
	out := fmt.Sprintf("%d%s", n, units[i].name)
	if i+1 < len(units) && n < 10 {
		if rest := d % units[i].size / units[i+1].size; rest > 0 {
			out += fmt.Sprintf("%d%s", rest, units[i+1].name)
		}
	}
	return out
}

// Percent returns a share of one. What is not nothing is not "0.0%", and what is not all not "100.0%".
func Percent(share float64) string {
	switch {
	case share > 0 && share < 0.0005:
		return "<0.1%"
	case share >= 0.9995 && share < 1:
		return ">99.9%"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}
