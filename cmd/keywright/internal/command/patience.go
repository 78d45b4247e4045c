package command

import (
	"time"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
)

// patience says how long a run waits for a server that does not answer, and shows that it does.
func patience(bar *terminal.Progress, config connect.Config) apply.Waiting {
	told := func(silent time.Duration, last error) {
		text := "waiting for " + config.String() + ", which has not answered for " + terminal.Duration(silent)
		if last != nil {
			text += ": " + last.Error()
		}
		bar.Say(text + "; the run ends after " + terminal.Duration(config.Patience()))
	}
	return apply.Waiting{Server: config.String(), Patience: config.Patience(), Told: told}
}
