package terminal

import (
	"fmt"
	"io"
	"time"
)

// Progress shows how far something is: one line that is drawn anew on a
// terminal, one line every ten seconds elsewhere.
type Progress struct {
	w     io.Writer
	live  bool
	last  time.Time
	shown bool
}

// NewProgress makes a Progress. mode is auto, plain or none; auto is a live line
// on a terminal and plain elsewhere. It returns nil for none, and a nil Progress
// shows nothing.
func NewProgress(mode string, w io.Writer, now time.Time) *Progress {
	if mode == "none" {
		return nil
	}
	return &Progress{w: w, live: mode == "auto" && IsTTY(w), last: now}
}

// Show draws the state: done of total (0 = unknown) after elapsed.
func (p *Progress) Show(what string, done, total int64, elapsed time.Duration, note string, now time.Time) {
	if p == nil || !p.live && now.Sub(p.last) < 10*time.Second {
		return
	}
	p.last = now
	rate := float64(done) / max(elapsed.Seconds(), 0.001)
	line := fmt.Sprintf("%s %s", Count(done), what)
	if total > 0 {
		line = fmt.Sprintf("%s of %s %s (%.0f%%)", Count(done), Count(total), what, min(100, 100*float64(done)/float64(total)))
	}
	line += fmt.Sprintf(", %s/s", Count(int64(rate)))
	if left := total - done; total > 0 && left > 0 && rate > 1 {
		line += ", " + Duration(time.Duration(float64(left)/rate*float64(time.Second))) + " left"
	}
	if note != "" {
		line += ", " + note
	}
	if p.live {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		p.shown = true
		return
	}
	fmt.Fprintln(p.w, line)
}

// Clear removes the live line.
func (p *Progress) Clear() {
	if p != nil && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
