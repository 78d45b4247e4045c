package phase

import (
	"time"
)

// PartState represents the phase of a part.
type PartState struct {
	State
	Since time.Time `json:"since"` // when the phase began
}
