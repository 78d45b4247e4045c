package connect

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
)

// Secret is text that does not print, by no verb and to no log. It is no string,
// since fmt shows those of verbs that they do not know.
type Secret struct{ text *string }

// NewSecret makes a secret of a text; "" is the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal gives the text, to be sent to a server.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Empty reports whether there is no secret.
func (s Secret) Empty() bool { return s.text == nil }

// String implements fmt.Stringer without giving the secret away.
func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return "***"
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// Format implements fmt.Formatter: by no verb the secret is shown.
func (s Secret) Format(to fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || verb == 'v' && to.Flag('#') {
		text = s.GoString()
	}
	_, _ = io.WriteString(to, text)
}

// MarshalText implements encoding.TextMarshaler, and so JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
