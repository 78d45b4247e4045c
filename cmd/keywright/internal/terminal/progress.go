package terminal

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright/keyspace/finding"
)

// Progress shows how far something is: one line that is drawn again and again on a
// terminal, one line every ten seconds elsewhere.
type Progress struct {
	mu    sync.Mutex
	s     *Screen
	bar   bool
	last  time.Time
	shown bool
}

// State describes how far it is.
type State struct {
	What        string // of what, "keys"
	Done, Total int64  // Total 0: unknown
	Elapsed     time.Duration
	Note        string
}

// plainEvery says how often a line is printed where there is no terminal.
const plainEvery = 10 * time.Second

// NewProgress makes a Progress. mode is auto, plain or none; auto is a bar on a
// terminal and plain elsewhere. It returns nil for none, and a nil Progress
// shows nothing.
func NewProgress(mode string, s *Screen, now time.Time) *Progress {
	if mode == "none" {
		return nil
	}
	return &Progress{s: s, bar: mode == "auto" && s.Live, last: now}
}

// Show draws the state.
func (p *Progress) Show(state State, now time.Time) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.bar && now.Sub(p.last) < plainEvery:
	case p.bar:
		fmt.Fprintf(p.s.Raw(), "\r\x1b[K%s", finding.Printable(state.within(p.s.Width)))
		p.shown = true
	default:
		p.last = now
		fmt.Fprintln(p.s, state.String())
	}
}

// Say prints a line above the bar.
func (p *Progress) Say(text string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.s, finding.Printable(text))
}

// Clear removes the bar.
func (p *Progress) Clear() {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clear()
	}
}

func (p *Progress) clear() {
	if p.shown {
		fmt.Fprint(p.s.Raw(), "\r\x1b[K")
		p.shown = false
	}
}

// within returns the state on a line of a screen: one that wraps could not be drawn
// over, so a narrow screen gets no bar, and at worst the beginning of the words.
func (s State) within(width int) string {
	words := s.String()
	line := s.bar() + words
	switch {
	case width == 0 || finding.Width(line) < width:
		return line
	case finding.Width(words) < width:
		return words
	}
	return string([]rune(words)[:min(max(width-1, 0), len([]rune(words)))])
}

// barWidth says how many columns the bar has.
const barWidth = 20

func (s State) bar() string {
	if s.Total <= 0 {
		return ""
	}
	full := int(min(barWidth, barWidth*s.Done/s.Total))
	return strings.Repeat("━", full) + strings.Repeat("┄", barWidth-full) + "  "
}

// String returns the state in words: how much, how fast, how long still.
func (s State) String() string {
	rate := float64(s.Done) / max(s.Elapsed.Seconds(), 0.001)
	line := Count(s.Done) + " " + s.What
	if s.Total > 0 {
		line = fmt.Sprintf("%s of %s %s (%.0f%%)", Count(s.Done), Count(s.Total), s.What,
			math.Floor(min(100, 100*float64(s.Done)/float64(s.Total)))) // 100% is all
	}
	line += ", " + Count(int64(rate)) + "/s"
	if left := s.Total - s.Done; s.Total > 0 && left > 0 && rate > 1 {
		line += ", " + Duration(time.Duration(float64(left)/rate*float64(time.Second))) + " left"
	}
	if s.Note != "" {
		line += ", " + s.Note
	}
	return line
}
