package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"syscall"

	"github.com/keywright/keywright/internal/coalesce"
	"github.com/keywright/keywright/kernel/internal/conn"
	"github.com/redis/rueidis"
)

// ErrNotFound reports a key, field or member that is not there. Collections are never
// not found: they come back empty.
var ErrNotFound = errors.New("not found")

// Class says what a failed operation has done and whether a retry can help. It
// is all a caller needs to act.
type Class uint8

// The classes.
const (
	// Invalid: the caller asked for what cannot be (a TTL out of bounds, a value
	// or placeholder that does not fit, a wrong type). Nothing was sent or
	// applied; a retry fails the same way.
	Invalid Class = iota
	// NotApplied: the server or the network refused before anything changed.
	// Trying again later is safe.
	NotApplied
	// Retryable: a read that failed for a passing reason. Trying again is safe.
	Retryable
	// UnknownOutcome: a write was sent and its reply was lost. It may have been
	// applied; look before writing again.
	UnknownOutcome
	// Refused: the server said no for a reason that time does not heal
	// (permission, wrong type of the key, a script's own error). Nothing was
	// applied, unless a script says otherwise.
	Refused
	// Partial: some operations of a transaction were applied and others refused. The
	// result of each says which.
	Partial
)

var classNames = [...]string{"invalid", "not applied", "retryable", "unknown outcome", "refused", "partly applied"}

// String implements fmt.Stringer.
func (c Class) String() string { return classNames[c] }

// ErrClosed is what every operation of a client fails with that was closed.
var ErrClosed = conn.ErrClosed

// Error represents an operation that failed.
type Error struct {
	Class    Class
	Op       string // "get", "set", "open" …
	Entry    string // the entry's name
	Key      string // where the server refused the key, or its type is what is wrong; logs do not have it
	Command  string // that the server refused for good: "xreadgroup", or "script queue fetch"
	Server   string
	Attempts int // how often it was tried
	Err      error
	Hint     string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Entry != "" {
		b.WriteString(" " + e.Entry)
	}
	if e.Server != "" {
		b.WriteString(" on " + e.Server)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Command != "" && !strings.Contains(e.Err.Error(), e.Command) {
		b.WriteString(" (" + e.Command + ")")
	}
	if e.Key != "" {
		fmt.Fprintf(&b, " (key %s)", e.Key)
	}
	if e.Class != Invalid {
		fmt.Fprintf(&b, " (%s", e.Class)
		if e.Attempts > 1 {
			fmt.Fprintf(&b, " after %d attempts", e.Attempts)
		}
		b.WriteByte(')')
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of an error of this package; ok is false for any other.
func ClassOf(err error) (class Class, ok bool) {
	var e *Error
	if errors.As(err, &e) {
		return e.Class, true
	}
	return Invalid, false
}

// DecodeError represents a stored value that is not what the declaration says. It names
// the key and never shows the value.
type DecodeError struct {
	Entry string
	Key   string
	Field string // of a hash or JSON object, "" for the whole value
	Err   error

	Partial bool // what does decode is given together with the error
}

func (e *DecodeError) Error() string {
	what := e.Entry
	if e.Field != "" {
		what += "." + e.Field
	}
	return fmt.Sprintf("%s: the value of key %q does not decode: %v", what, e.Key, e.Err)
}

// Unwrap gives the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// refusals lists the first words of error replies: what they mean for a single
// command. Each of them is sent before the command changes anything.
// Source: the error shared objects of the servers (server.c), and the command
// pages of each; see docs/runtime.md.
var refusals = map[string]struct {
	class Class
	again bool // a passing state: trying again soon may do
	hint  string
}{
	"LOADING":     {NotApplied, true, "the server is loading its data; try again when it is done"},
	"READONLY":    {NotApplied, true, "a failover is under way, or the URL is a replica's"},
	"MASTERDOWN":  {NotApplied, true, "the replica has lost its primary"},
	"CLUSTERDOWN": {NotApplied, true, "slots of the cluster are not served; `keywright doctor` says which"},
	"TRYAGAIN":    {NotApplied, true, ""},
	"UNBLOCKED":   {NotApplied, true, ""},
	"BUSY":        {NotApplied, false, "a script has been running for long; `SCRIPT KILL` ends one that has not written"},
	"NOREPLICAS":  {NotApplied, false, "min-replicas-to-write is not met: too few replicas keep up"},
	"MISCONF":     {NotApplied, false, "the server cannot save to its disk and takes no writes"},
	"OOM":         {NotApplied, false, "the server is at maxmemory; `keywright top` shows what takes it"},
	"NOPERM":      {Refused, false, "the ACL user lacks a permission; `keywright acl print` shows what a component needs"},
	"NOAUTH":      {Refused, false, "the server wants a login"},
	"WRONGPASS":   {Refused, false, "the login is wrong"},
	"WRONGTYPE": {Refused, false,
		"another program wrote this key with another type; `keywright audit` finds all of them"},
	"EXECABORT": {NotApplied, false, ""},
	"CROSSSLOT": {Refused, false,
		"the keys lie in different cluster slots; declare `cluster: true` and let lint say where"},
}

// refusal returns the first word of an error reply, "" if err is none. The client library takes ERR away, and servers
// say
// in several ways that a script may not do something.
func refusal(err error) string {
	reply, ok := errors.AsType[*rueidis.RedisError](err)
	if !ok || reply.IsNil() {
		return ""
	}
	text := reply.Error()
	if strings.HasPrefix(text, "The user executing the script can't ") || strings.HasPrefix(text,
		"ACL failure in script") {
		return "NOPERM"
	}
	if word, _, _ := strings.Cut(text, " "); word == strings.ToUpper(word) {
		return word
	}
	return "ERR"
}

// refusedCommand finds the command that a server has refused, where it says that.
var refusedCommand = regexp.MustCompile("(?i)(?:unknown command |run the )[`']([a-z|._-]+)[`']")

// lasting reports whether a refusal is one of a right, a command or a type that is not there: it stays so.
func lasting(err error) bool {
	switch refusal(err) {
	case "NOPERM", "WRONGTYPE":
		return true
	case "ERR":
		reply, _ := errors.AsType[*rueidis.RedisError](err)
		return strings.HasPrefix(strings.ToLower(reply.Error()), "unknown command") ||
			strings.HasPrefix(reply.Error(), "Unknown Redis command") // of a script
	}
	return false
}

// Permanent returns err if it is an *Error of a server that will say the same again: a right, a command or the type of
// a
// key is not what the operation needs. Else it is nil. It is for constructs: such an error ends what works in the
// background.
func Permanent(err error) error {
	if e, ok := err.(*Error); ok && lasting(e.Err) {
		return e
	}
	return nil
}

// judge says what a failure means for a command that only reads, or writes.
func judge(err error, writes bool) (class Class, again bool, hint string) {
	if word := refusal(err); word != "" {
		if r, known := refusals[word]; known {
			return ofRead(r.class, writes), r.again, r.hint
		}
		return Refused, false, ""
	}
	if checked, ok := errors.AsType[interface {
		error
		Sent() bool
	}](err); ok && !checked.Sent() { // by a guard, which refuses it each time
		return Invalid, false, ""
	}
	if notSent(err) {
		if errors.Is(err, ErrClosed) {
			return NotApplied, false, ""
		}
		return ofRead(NotApplied, writes), true, ""
	}
	if writes {
		return UnknownOutcome, false, "it may have been applied: read before you write again"
	}
	return Retryable, transient(err), ""
}

// ofRead returns the class of a passing failure: a read applies nothing.
func ofRead(class Class, writes bool) Class {
	if class == NotApplied && !writes {
		return Retryable
	}
	return class
}

// notSent reports whether a command cannot have reached a server: its caller left,
// or there was no connection to send it on.
func notSent(err error) bool {
	var op *net.OpError
	var u *conn.Unsent
	var n *coalesce.NotAsked
	return errors.As(err, &u) || errors.As(err, &n) || errors.As(err, &op) && op.Op == "dial" ||
		errors.Is(err, rueidis.ErrNoSlot) || errors.Is(err, rueidis.ErrNoAddr) || errors.Is(err, rueidis.ErrNoCache)
}

// Passes reports whether an error is a refusal for a passing state, as that of a server that loads its data.
func Passes(err error) bool { return refusals[refusal(err)].again }

// Broken reports whether an error says that the connection to a server broke, or could not be made.
func Broken(err error) bool {
	var dial *net.OpError
	return transient(err) || errors.As(err, &dial)
}

// transient reports whether a read that failed so may do better soon: the
// connection broke. A context that has ended is not transient. ErrClosing is
// what commands get when a failover closes the connection under them; they may
// have been sent.
func transient(err error) bool {
	network, ok := errors.AsType[net.Error](err)
	_, ofFile := network.(syscall.Errno) // that of a connection is in a net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		ok && !ofFile && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) ||
		errors.Is(err, rueidis.ErrDoCacheAborted) || errors.Is(err, rueidis.ErrClosing)
}
