package sides

import (
	"context"
	"time"

	"github.com/keywright/keywright/migrate/internal/disk"
)

// Pace holds what is done to so many records a second; nil does not.
type Pace struct {
	perSecond int
	began     time.Time
	done      int
}

// NewPace returns a pace; nil for 0, which holds nothing.
func NewPace(perSecond int) *Pace {
	if perSecond <= 0 {
		return nil
	}
	return &Pace{perSecond: perSecond, began: time.Now()}
}

// Wait waits until so many more records may be looked at.
func (p *Pace) Wait(ctx context.Context, n int) error {
	if p == nil {
		return ctx.Err()
	}
	p.done += n
	ahead := time.Duration(float64(p.done)/float64(p.perSecond)*float64(time.Second)) - time.Since(p.began)
	if ahead <= 0 {
		return ctx.Err()
	}
	return disk.Pause(ctx, ahead)
}
