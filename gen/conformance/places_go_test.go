package conformance_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/gen"
)

// goFile writes what is done with a declaration in Go.
type goFile struct {
	strings.Builder
	pkg string
}

func goUse(d *declaration) string {
	f := &goFile{pkg: d.name}
	fmt.Fprintf(f,
		"package main\n\nimport "+
			"(\n\"encoding/json\"\n\n\"github.com/keywright/keywright\"\n\"github.com/keywright/keywright/event\"\n\"github.com/keywright/keywright/internal/zz_places/%s\"\n)\n\nvar _ json.RawMessage\nvar _ event.Options\n\nfunc init() { uses = append(uses, use_%s) }\n\nfunc use_%s(p *player, c *keywright.Client) {\nk := %s.New(c)\n", d.name, d.name, d.name, d.name)
	for _, u := range d.cases {
		goKinds[strings.Fields(u.kind)[0]](f, u)
	}
	return f.String() + "}\n"
}

// in writes a step of a mode.
func (f *goFile) in(mode string, u *use, format string, args ...any) {
	if u.sealed && mode == "read" {
		mode = "read of Go" // which alone has the key ring
	}
	fmt.Fprintf(f, "p.in(%q, %q, func() error {\n%s\n})\n", mode, f.pkg+" "+u.name, fmt.Sprintf(format, args...))
}

func goName(u *use) string { return gen.Title(u.name) }

func goArgs(list []sample) string {
	var out []string
	for _, s := range list {
		out = append(out, s.goText())
	}
	return strings.Join(out, ", ")
}

// handle returns the call that gives the handle.
func handle(u *use) string { return fmt.Sprintf("k.%s(%s)", goName(u), goArgs(u.places)) }

// struct writes a variable with an object.
func (f *goFile) object(u *use, suffix string) string {
	name := "v_" + u.name
	fmt.Fprintf(f, "%s := func() (v %s.%s%s) {\n", name, f.pkg, goName(u), suffix)
	for _, s := range u.fields {
		field := gen.Title(s.name)
		switch {
		case s.absent:
		case s.optional:
			fmt.Fprintf(f, "set(&v.%s, %s)\n", field, s.goText())
		default:
			fmt.Fprintf(f, "v.%s = %s\n", field, s.goText())
		}
	}
	f.WriteString("return v\n}()\n")
	return name
}

// simple writes and reads by methods of one argument.
func (f *goFile) simple(u *use, v string) {
	f.in("write", u, "return %s.Set(%s).Do(p.ctx)", handle(u), v)
	f.in("read", u, "got, err := %s.Get().Do(p.ctx)\nreturn same(got, err, %s)", handle(u), v)
}

// cached does so with a cache, whose methods take the context.
func (f *goFile) cached(u *use, v string) {
	f.in("write", u, "return %s.Set(p.ctx, %s)", handle(u), v)
	f.in("read", u, "got, err := %s.Get(p.ctx)\nreturn same(got, err, %s)", handle(u), v)
}

// scored writes and reads a member with its score.
func (f *goFile) scored(u *use) {
	m, s := u.values[0].goText(), u.values[1].goText()
	f.in("write", u, "_, err := %s.Add(%s, %s).Do(p.ctx)\nreturn err", handle(u), m, s)
	f.in("read",
		u, "got, err := first(%s.Top(5).Do(p.ctx))\nif err := same(got.Member, err, %s); err != nil {\nreturn err\n}\nreturn "+
			"same(got.Score, err, %s)", handle(u), m, s)
}

// listed writes and reads an element of a collection.
func (f *goFile) listed(u *use, add, all string) {
	v := u.values[0].goText()
	f.in("write", u, "_, err := %s.%s(%s).Do(p.ctx)\nreturn err", handle(u), add, v)
	f.in("read", u, "got, err := first(%s.%s)\nreturn same(got, err, %s)", handle(u), all, v)
}

func (f *goFile) queued(u *use, v string) {
	f.in("write", u, "return put(p.ctx, %s, %s)", handle(u), v)
	f.in("work", u, "return done(p.ctx, %s, %s)", handle(u), v)
}

var goKinds = map[string]func(*goFile, *use){
	"string": func(f *goFile, u *use) { f.simple(u, u.values[0].goText()) },
	"object": func(f *goFile, u *use) { f.simple(u, f.object(u, "Value")) },
	"hash":   func(f *goFile, u *use) { f.simple(u, f.object(u, "Value")) },
	"cache": func(f *goFile, u *use) {
		if len(u.fields) > 0 {
			f.cached(u, f.object(u, "Value"))
		} else {
			f.cached(u, u.values[0].goText())
		}
	},
	"map": func(f *goFile, u *use) {
		field, v := u.values[0].goText(), u.values[1].goText()
		f.in("write", u, "_, err := %s.Set(%s, %s).Do(p.ctx)\nreturn err", handle(u), field, v)
		f.in("read", u, "got, err := %s.Get(%s).Do(p.ctx)\nreturn same(got, err, %s)", handle(u), field, v)
	},
	"list":    func(f *goFile, u *use) { f.listed(u, "PushRight", "Range(0, -1).Do(p.ctx)") },
	"set":     func(f *goFile, u *use) { f.listed(u, "Add", "Members().Do(p.ctx)") },
	"zset":    (*goFile).scored,
	"ranking": (*goFile).scored,
	"stream": func(f *goFile, u *use) {
		v := f.object(u, "Value")
		f.in("write", u, "_, err := %s.Add(%s).Do(p.ctx)\nreturn err", handle(u), v)
		f.in("read", u, "got, err := first(%s.Last(5).Do(p.ctx))\nreturn same(got.Value, err, %s)", handle(u), v)
	},
	"counter": func(f *goFile, u *use) {
		v := u.values[0].goText()
		f.in("write", u, "_, err := %s.Add(%s).Do(p.ctx)\nreturn err", handle(u), v)
		f.in("read", u, "got, err := %s.Get().Do(p.ctx)\nreturn same(got, err, %s)", handle(u), v)
	},
	"lock":  func(f *goFile, u *use) { f.in("work", u, "return locked(p.ctx, %s)", handle(u)) },
	"limit": func(f *goFile, u *use) { f.in("work", u, "return limited(p.ctx, %s)", handle(u)) },
	"queue": func(f *goFile, u *use) {
		if len(u.fields) > 0 {
			f.queued(u, f.object(u, "Value"))
		} else {
			f.queued(u, u.values[0].goText())
		}
	},
	"event": func(f *goFile, u *use) {
		f.simple(u, u.values[0].goText())
		f.in("work", u,
			"if err := k.Done(p.ctx, %s); err != nil {\nreturn err\n}\nthere, err := %s.Exists().Do(p.ctx)\nreturn same(there, "+
				"err, false)", goArgs(u.places), handle(u))
	},
	"entity": (*goFile).entity,
	"topic": func(f *goFile, u *use) {
		v := f.object(u, "Message")
		topic := fmt.Sprintf("k.%sTopic(%s)", goName(u), goArgs(u.places))
		f.in("write", u, "return %s.Publish(p.ctx, %s)", topic, v)
		fmt.Fprintf(f, "hear(p, %q, %s, %s)\n", f.pkg+" "+u.name, topic, v)
	},
	"durable": func(f *goFile, u *use) {
		v := f.object(u, "Message")
		f.in("write", u, "_, err := %s.Publish(p.ctx, %s)\nreturn err", handle(u), v)
		f.in("read", u, "got, err := first(%s.Read(p.ctx, event.Begin, \"+\", 5))\nreturn same(got.Data, err, %s)",
			handle(u), v)
	},
	"exchange": func(f *goFile, u *use) {
		v := f.object(u, "Message")
		f.in("work", u, "return asked(p.ctx, k.%sExchange(%s), %s, %s.%sReply{M: 1.5})", goName(u), goArgs(u.places), v,
			f.pkg, goName(u))
	},
}

// entity makes an item, reads it, finds it by its indexes and deletes it.
func (f *goFile) entity(u *use) {
	v := f.object(u, "Value")
	shared, own := []sample(nil), u.places
	if u.shape == "shared" {
		shared, own = u.places[:1], u.places[1:]
	}
	id := own[0].goText()
	if len(own) > 1 {
		var parts []string
		for _, s := range own {
			parts = append(parts, gen.Title(s.name)+": "+s.goText())
		}
		id = fmt.Sprintf("%s.%sID{%s}", f.pkg, goName(u), strings.Join(parts, ", "))
	}
	store := fmt.Sprintf("k.%sStore(%s)", goName(u), goArgs(shared))
	f.in("write", u, "_, err := %s.Create(p.ctx, %s, %s)\nreturn err", store, id, v)
	f.in("read of Go", u, "got, err := %s.Get(p.ctx, %s)\nreturn same(got.Value, err, %s)", store, id, v)
	by := func(name string) {
		i := slices.IndexFunc(u.fields, func(s sample) bool { return s.name == name })
		place := u.fields[i]
		place.key = true
		f.in("read of Go", u, "s := %s\nreturn listed(p.ctx, s.Store, s.By%s(%s), %s)", store, gen.Title(name),
			place.goText(), v)
	}
	by("g")
	if u.shape == "named" {
		by(u.places[0].name)
	}
	f.in("read of Go", u, "s := %s\nreturn listed(p.ctx, s.Store, s.ByAt(), %s)", store, v)
	if u.shape == "shared" {
		f.emits(u, store, id, v)
		return
	}
	f.in("work", u, "gone, err := %s.Delete(p.ctx, %s)\nreturn same(gone, err, true)", store, id)
}

// emits changes an item in each way, and receives each change where both placeholders of
// its key say, with both in the message.
func (f *goFile) emits(u *use, store, id, v string) {
	args := goArgs([]sample{u.places[1], u.places[0]})
	message := func(name string) string {
		var fields []string
		for _, p := range u.places {
			p.key = false
			fields = append(fields, gen.Title(p.name)+": "+p.goText())
		}
		return fmt.Sprintf("%s.%sMessage{%s}", f.pkg, name, strings.Join(fields, ", "))
	}
	kept := func(name string) string {
		return fmt.Sprintf("got, err := first(k.%s(%s).Read(p.ctx, event.Begin, \"+\", 5))\nreturn same(got.Data, err, %s)",
			name, args, message(name))
	}
	f.in("read of Go", u, "%s", kept("Made"))
	f.in("work", u, "return told(p, k.ChangedTopic(%s), %s, func() error { _, err := %s.Put(p.ctx, %s, %s); return err })",
		args, message("Changed"), store, id, v)
	f.in("work", u,
		"there, err := %s.Delete(p.ctx, %s)\nif err := same(there, err, true); err != nil {\nreturn err\n}\n%s", store, id,
		kept("Gone"))
	f.in("work", u, "s := %s\nif err := ended(p, s.Store, %s, %s); err != nil {\nreturn err\n}\n%s", store, id, v,
		kept("Ended"))
}
