package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

type garbledError struct{ error }

func (garbledError) Garbled() {}

// TestWhatSpeaksAnotherProtocolIsGivenUp after a few attempts, what is only away is not.
func TestWhatSpeaksAnotherProtocolIsGivenUp(t *testing.T) {
	t.Parallel()
	garbled := fmt.Errorf("the server: %w", garbledError{io.ErrNoProgress})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, step := range []struct {
		ctx     context.Context
		attempt int
		last    error
		again   bool
	}{
		{t.Context(), 1, garbled, true},
		{t.Context(), nonsense, garbled, false},
		{t.Context(), nonsense, errors.Join(io.EOF, garbled), false},
		{t.Context(), nonsense, io.EOF, true},
		{over, 1, io.EOF, false},
	} {
		if again := Pause(step.ctx, step.attempt, step.last); again != step.again {
			t.Errorf("attempt %d after %v: %v", step.attempt, step.last, again)
		}
	}
}
