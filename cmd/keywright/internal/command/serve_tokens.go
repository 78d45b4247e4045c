package command

import (
	"context"
	"os"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/finding"
)

// tokensEvery says how often the file of --tokens is looked at.
const tokensEvery = 2 * time.Second

// watchTokens reads the file of --tokens again when it changes, until ctx ends: a token that is
// taken out is good no longer. Where it cannot be read, the tokens of before hold, and that is told.
func (a *app) watchTokens(ctx context.Context, o *serving, s *serve.Server) {
	if o.tokens == "" {
		return
	}
	tick := time.NewTicker(tokensEvery)
	defer tick.Stop()
	var was os.FileInfo
	for said := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		is, err := os.Stat(o.tokens)
		if err == nil && was != nil && os.SameFile(was, is) && was.Size() == is.Size() &&
			was.ModTime().Equal(is.ModTime()) {
			continue
		}
		tokens, err := o.readTokens()
		if err != nil {
			if text := finding.Printable(err.Error()); text != said {
				said = text
				a.say("warning: the tokens of before hold: %s", text)
			}
			was = nil
			continue
		}
		if was != nil {
			a.sayEnded(o, tokens)
		}
		s.Admit(tokens)
		said, was = "", is
	}
}
