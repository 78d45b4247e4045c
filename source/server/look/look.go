// Package look reads what a server knows of one key, and a bounded part of its value, in a cluster at the node that
// holds the key. It changes nothing, and it does not judge. Many keys are read by a scan: package server.
//
// API: may change until 1.0.
package look

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source/server/allowed"
	"github.com/keywright/keywright/source/server/internal/link"
)

// Bounds of what At reads of a value.
const (
	MaxElements = 100      // of a collection
	MaxBytes    = 64 << 10 // of all names and values together
	maxElement  = 8 << 20  // of one element, which the server sends whole
	eachText    = 8        // what a text counts beside its bytes: texts without any are bounded, too
)

// Request says which value is looked at, and what of it stays closed.
type Request struct {
	Key    []byte
	Closed func(kind string) bool // of a key of this type: nothing of the value is read; nil: none is
	Hides  func(field []byte) bool
}

// Look describes a key and a bounded part of its value.
type Look struct {
	Facts
	Closed   bool   // nothing of the value was read: Request.Closed
	Unknown  bool   // values of this type cannot be read
	Touched  bool   // the key's idle time begins again: the server has no CLIENT NO-TOUCH, or does not permit it
	Size     int64  // elements, as the server counts them; bytes of a string
	Elements []Item // strings have one
	TooLong  bool   // the element after these has more than 8 MiB
}

// Item represents an element of a value.
type Item struct {
	Name   Text   // field of a hash; ID of an entry of a stream
	Score  string // of a member of a sorted set
	Value  Text
	Fields []Item // of an entry of a stream…
	Of     int    // …and how many it has
}

// Text holds bytes, or the first of them.
type Text struct {
	Bytes  []byte
	Length int64 // of all
	Hidden bool  // Request.Hides: Bytes is nil
}

// Cut reports whether bytes are missing.
func (t Text) Cut() bool { return !t.Hidden && t.Length > int64(len(t.Bytes)) }

// Commands returns what At sends beside the commands of an audit of values. It also tries
// CLIENT NO-TOUCH, as Contents does.
func Commands() []allowed.Command {
	return []allowed.Command{
		{Name: "strlen", Why: "bytes of a string", Values: true},
		{Name: "zrange", Why: "the members with the lowest scores", Values: true},
	}
}

// looking describes how a value of a type is looked at. The key comes second in each command.
type looking struct {
	size  string
	read  func(n string) []string
	named bool // elements are names and values
	score bool // elements are members and scores
	entry bool // elements are entries of a stream
}

var lookings = map[string]looking{
	"list": {size: "LLEN", read: func(n string) []string { return []string{"LRANGE", "0", n} }},
	"set":  {size: "SCARD", read: func(n string) []string { return []string{"SRANDMEMBER", n} }},
	"zset": {size: "ZCARD", score: true,
		read: func(n string) []string { return []string{"ZRANGE", "0", n, "WITHSCORES"} }},
	"hash": {size: "HLEN", named: true,
		read: func(n string) []string { return []string{"HRANDFIELD", n, "WITHVALUES"} }},
	"stream": {size: "XLEN", entry: true,
		read: func(n string) []string { return []string{"XREVRANGE", "+", "-", "COUNT", n} }},
}

// At reads a key and a bounded part of its value, in a cluster at the node that holds it: the
// beginning of a string or a list, the lowest members of a sorted set, the latest entries of a stream,
// and of a hash or a set that is larger some elements at random. It changes nothing; a
// server without CLIENT NO-TOUCH begins to count the key's idle time again.
func At(ctx context.Context, c connect.Config, q Request) (l Look, err error) {
	t, sh, err := holding(ctx, c, q.Key)
	if err != nil {
		return l, err
	}
	defer t.Close()
	stop := context.AfterFunc(ctx, sh.Conn.Interrupt)
	defer stop()
	_, err = connect.Ask(sh.Conn.Conn, "CLIENT", "NO-TOUCH", "on")
	if l.Touched = errors.As(err, new(*wire.ServerError)); err != nil && !l.Touched {
		return l, connect.Explain(sh.Address, err)
	}
	if l.Facts, err = facts(ctx, sh, q.Key); err != nil || !l.Exists {
		return l, err
	}
	how, known := lookings[l.Type]
	switch {
	case q.Closed != nil && q.Closed(l.Type):
		l.Closed = true
		return l, nil
	case l.Type != "string" && !known:
		l.Unknown = true
		return l, nil
	}
	r := looker{conn: sh.Conn, hides: q.Hides, left: MaxBytes, look: &l}
	if err = r.read(q.Key, how); errors.As(err, new(*tooLong)) {
		l.TooLong, err = true, nil
	}
	return l, connect.Explain(sh.Address, err)
}

// tooLong is the error of an element that is not read.
type tooLong struct{ error }

// looker reads the replies of one look.
type looker struct {
	conn  *link.Link
	hides func([]byte) bool
	left  int // bytes that may still be kept
	look  *Look
}

func (r *looker) read(key []byte, how looking) error {
	r.conn.LimitBulk(maxElement)
	if r.look.Type == "string" {
		return r.readString(key)
	}
	size, err := r.size(how.size, key)
	if err != nil {
		return err
	}
	if size == 0 {
		r.look.Exists = r.look.Type == "stream" // another one has gone meanwhile
		return nil
	}
	n := r.most(size)
	if r.look.Type == "list" || r.look.Type == "zset" {
		n-- // the last place, and not a number
	}
	args := how.read(strconv.Itoa(n))
	r.conn.Command(slices.Insert(args, 1, string(key))...)
	if err := r.conn.Flush(); err != nil {
		return err
	}
	got, err := r.conn.Array()
	if err != nil {
		return err
	}
	return r.elements(got, how)
}

// most returns how many elements are asked for: fewer where they are large on the average.
func (r *looker) most(size int64) int {
	n := int64(MaxElements)
	if r.look.Bytes > 0 {
		n = min(n, max(1, 4*MaxBytes/max(1, r.look.Bytes/size)))
	}
	return int(n)
}

func (r *looker) size(command string, key []byte) (int64, error) {
	r.conn.Command(command, string(key))
	if err := r.conn.Flush(); err != nil {
		return 0, err
	}
	var err error
	r.look.Size, _, err = r.conn.Int()
	return r.look.Size, err
}

func (r *looker) readString(key []byte) error {
	size, err := r.size("STRLEN", key)
	if err != nil {
		return err
	}
	r.conn.Command("GETRANGE", string(key), "0", strconv.Itoa(MaxBytes-1))
	if err := r.conn.Flush(); err != nil {
		return err
	}
	r.left += eachText
	text, err := r.text()
	text.Length = max(size, text.Length)
	r.look.Size, r.look.Elements = text.Length, []Item{{Value: text}}
	return err
}

// elements reads what a reply has until nothing more may be kept: the rest is left on the connection,
// which is closed.
func (r *looker) elements(got int, how looking) (err error) {
	for i := 0; i < got && r.left > 0; i++ {
		var item Item
		switch {
		case how.entry:
			item, err = r.entry()
		case how.named:
			item, err = r.field()
			i++
		default:
			item.Value, err = r.text()
		}
		if err == nil && how.score {
			var score []byte
			score, _, err = r.conn.Bulk()
			item.Score = string(score)
			i++
		}
		if err != nil {
			return err
		}
		r.look.Elements = append(r.look.Elements, item)
	}
	return nil
}

// field reads a name and its value. Where not all of the name is known the value is hidden, too.
func (r *looker) field() (item Item, err error) {
	if item.Name, err = r.text(); err != nil {
		return item, err
	}
	if r.hides == nil || !item.Name.Cut() && !r.hides(item.Name.Bytes) {
		item.Value, err = r.text()
		return item, err
	}
	b, _, err := r.bulk()
	item.Value = Text{Length: int64(len(b)), Hidden: true}
	return item, err
}

// entry reads an entry of a stream. Of its fields those are left out that do not fit.
func (r *looker) entry() (item Item, err error) {
	if n, err := r.conn.Array(); err != nil || n != 2 {
		return item, link.WrongForm(err, "the two of an entry of a stream")
	}
	if item.Name, err = r.text(); err != nil {
		return item, err
	}
	n, err := r.conn.Array()
	for i := 0; i+1 < n && err == nil && r.left > 0; i += 2 {
		var f Item
		if f, err = r.field(); err == nil {
			item.Fields = append(item.Fields, f)
		}
	}
	item.Of = max(n, 0) / 2
	return item, err
}

// text reads a text and keeps what fits of it.
func (r *looker) text() (Text, error) {
	b, _, err := r.bulk()
	keep := min(len(b), max(r.left, 0))
	r.left -= keep + eachText
	return Text{Bytes: append([]byte{}, b[:keep]...), Length: int64(len(b))}, err
}

func (r *looker) bulk() (b []byte, ok bool, err error) {
	b, ok, err = r.conn.Bulk()
	if p, strange := errors.AsType[*wire.ProtocolError](err); strange &&
		strings.HasPrefix(p.Want, "a bulk string of at most") {
		err = &tooLong{err}
	}
	return b, ok, err
}
