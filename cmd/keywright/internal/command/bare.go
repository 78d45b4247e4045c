package command

import "github.com/keywright/keywright/finding"

// bare refuses to write what foreigners wrote, byte by byte, to a terminal: it would
// obey it. what is the flag that asks for it, instead what to write.
func (a *app) bare(asked bool, what, instead string) error {
	if !asked || !a.out.TTY {
		return nil
	}
	return usage(instead, "%s writes bytes of others as they are, which is not for a terminal", what)
}

// show writes a text that is also a file, as fmt and infer print it: as it is, but to
// a terminal so that nothing in it is a command.
func (a *app) show(text []byte) error {
	if a.out.TTY {
		text = finding.Harmless(text, false, false)
	}
	_, err := a.out.Raw().Write(text)
	return err
}
