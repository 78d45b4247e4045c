package contents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/internal/link"
	"github.com/keywright/keywright/source/server/internal/scan"
)

// Libraries calls each with the code of each library of functions of each shard, one library at a time. The reasons say
// of which shards they could not be read.
func Libraries(ctx context.Context, t *fleet.Fleet, each func(server string, code []byte) error) (why source.Reasons,
	err error) {
	for _, sh := range t.Shards {
		err := librariesOf(ctx, sh, each)
		if no := (*unreadLibraries)(nil); errors.As(err, &no) {
			if no.count != 0 {
				why = why.Add(no.reason(sh.Address))
			}
		} else if err != nil {
			return why, err
		}
	}
	return why, nil
}

// unreadLibraries is returned where a server does not let us read its libraries of functions.
type unreadLibraries struct {
	count int64 // how many there are; -1: not known
	cause error
}

// Error implements error.
func (u *unreadLibraries) Error() string { return u.cause.Error() }

// reason says what is not read.
func (u *unreadLibraries) reason(server string) source.Reason {
	why := source.Why(source.LibrariesDenied, server, u.cause)
	if why.Keys = u.count; u.count < 0 {
		why.Keys = 0
		why.What = "how many is not known; " + why.What
	}
	return why
}

// librariesOf asks one server. The names come first, so that the code of one library is held at a time.
func librariesOf(ctx context.Context, s *fleet.Shard, each func(server string, code []byte) error) error {
	stop := context.AfterFunc(ctx, s.Conn.Interrupt)
	defer stop()
	s.Conn.LimitBulk(wire.MaxBulk)
	names, err := functions(ctx, s.Conn, "library_name")
	slices.Sort(names)
	for i := 0; i < len(names) && err == nil; i++ {
		var code []string
		if code, err = functions(ctx, s.Conn, "library_code", "LIBRARYNAME", names[i], "WITHCODE"); err != nil {
			break
		}
		for _, c := range code { // none: it was deleted meanwhile
			if err := each(s.Address, []byte(c)); err != nil {
				return &scan.ConsumerError{Err: err}
			}
		}
	}
	return err
}

// functions returns one field of each library that FUNCTION LIST has.
func functions(ctx context.Context, l *link.Link, field string, more ...string) (out []string, err error) {
	reply, err := connect.Ask(l.Conn, append([]string{"FUNCTION", "LIST"}, more...)...)
	if answer := (*wire.ServerError)(nil); errors.As(err, &answer) {
		return nil, unread(ctx, l, answer)
	}
	if err != nil {
		return nil, connect.Explain(l.Address, err)
	}
	list, _ := reply.([]any)
	for _, one := range list {
		text, ok := pairsOf(one)[field].(string)
		if !ok {
			return nil, connect.Explain(l.Address,
				&wire.ProtocolError{Got: fmt.Sprintf("%T", one), Want: "a library of functions"})
		}
		out = append(out, text)
	}
	return out, nil
}

// unread says how many libraries there are that the server does not let us read. Servers from before there were
// libraries have none.
func unread(ctx context.Context, l *link.Link, answer *wire.ServerError) error {
	unknown := answer.Code == "ERR" // the command
	info, err := topology.ReadInfo(ctx, l.Ask, "memory")
	if wrong := (*wire.ServerError)(nil); err != nil && !errors.As(err, &wrong) {
		return err
	}
	count, told := info.Number("number_of_libraries")
	if !told && !unknown {
		count = -1
	}
	return &unreadLibraries{count, answer}
}

// askLibraries gives the libraries of functions of all shards to the consumer of a request.
func askLibraries(ctx context.Context, r *scan.Run, each func(server string, code []byte) error) error {
	if each == nil {
		return nil
	}
	why, err := Libraries(ctx, r.Fleet, each)
	r.Note(why...)
	if consumer := (*scan.ConsumerError)(nil); errors.As(err, &consumer) {
		return consumer.Err
	}
	return err
}
