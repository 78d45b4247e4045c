// Package terminal is how output looks on a screen: colour, tables, figures for
// people and a progress line. Results go to standard output, everything else to
// standard error; a file or pipe gets no colour and no progress bar.
//
// It knows nothing of keyspaces, and machine-readable output does not pass
// through it.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/keywright/keywright/finding"
	"golang.org/x/term"
)

// IsTTY reports whether w is a terminal.
func IsTTY(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Color decides on colour: mode is auto, always or never; NO_COLOR,
// CLICOLOR_FORCE and TERM=dumb are respected (https://no-color.org/).
func Color(mode string, w io.Writer, getenv func(string) string) bool {
	switch {
	case mode == "always":
		return true
	case mode == "never" || getenv("NO_COLOR") != "":
		return false
	case getenv("CLICOLOR_FORCE") != "" && getenv("CLICOLOR_FORCE") != "0":
		return true
	}
	return IsTTY(w) && getenv("TERM") != "dumb"
}

// Table prints aligned columns with a header; East Asian text is as wide as it
// looks. right are the columns that align to the right, from 0.
func Table(w io.Writer, header []string, rows [][]string, right ...int) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	style := t.Style()
	style.Options = table.Options{SeparateHeader: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	t.AppendHeader(cells(header))
	for _, r := range rows {
		t.AppendRow(cells(r))
	}
	var configs []table.ColumnConfig
	for _, i := range right {
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	for _, line := range strings.Split(t.Render(), "\n") {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

func cells(values []string) table.Row {
	row := make(table.Row, len(values))
	for i, v := range values {
		row[i] = finding.Printable(v)
	}
	return row
}

// Count is a number with its thousands apart.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes is a size in binary units.
func Bytes(n int64) string {
	f := float64(n)
	for _, unit := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		if f < 1000 || unit == "TiB" {
			if unit == "B" {
				return fmt.Sprintf("%d B", n)
			}
			return fmt.Sprintf("%.1f %s", f, unit)
		}
		f /= 1024
	}
	return ""
}

// Duration is a time as people say it: two units at most.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + "s"
	}
	units := []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	var out string
	for i, u := range units {
		if d < u.size {
			continue
		}
		out = fmt.Sprintf("%d%s", d/u.size, u.name)
		if i+1 < len(units) {
			if next := d % u.size / units[i+1].size; next > 0 && d/u.size < 10 {
				out += fmt.Sprintf("%d%s", next, units[i+1].name)
			}
		}
		break
	}
	return out
}

// Percent is a share of one.
func Percent(share float64) string {
	if share > 0 && share < 0.0005 {
		return "<0.1%"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}
