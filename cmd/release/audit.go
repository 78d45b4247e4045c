package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// auditScript asks for known vulnerabilities. For each question it prints a line that begins with one of answers, and
// it exits with 1 if one was found in what is released.
const auditScript = "scripts/audit-deps.sh"

// questions says how many the script asks.
const questions = 3

// answers lists how lines of the script begin that the end of a release repeats.
var answers = []string{"checked: ", "found: ", "not checked: "}

// audit asks for known vulnerabilities of what is released. Where a network does not allow it, the release goes on and
// says so; what is found stops it.
func (r *release) audit(ctx context.Context) error {
	if r.offline {
		r.audited = []string{"not checked: Go modules and npm packages, because of -offline"}
		fmt.Fprintln(r.out, r.audited[0])
		return nil
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", auditScript)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.repo, io.MultiWriter(r.out, &said), r.out
	err := cmd.Run()
	r.audited = answersOf(said.String())
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 &&
		slices.ContainsFunc(r.audited, func(line string) bool { return strings.HasPrefix(line, "found: ") }) {
		if r.accept {
			r.audited = append(r.audited, "these were accepted: -accept-findings")
			return nil
		}
		return fmt.Errorf("there is a known vulnerability in what would be released (above): update what has it, or, if it " +
			"cannot harm a user, make the release with ACCEPT_FINDINGS=1 and say so in the changelog")
	}
	if err == nil && len(r.audited) != questions {
		return fmt.Errorf("%s has %d answers, and not %d: this cannot happen, please report it", auditScript,
			len(r.audited), questions)
	}
	return err
}

// answersOf returns the lines of the script that answer a question.
func answersOf(said string) (out []string) {
	for line := range strings.Lines(said) {
		for _, prefix := range answers {
			if strings.HasPrefix(line, prefix) {
				out = append(out, strings.TrimSpace(line))
			}
		}
	}
	return out
}
