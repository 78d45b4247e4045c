package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/ranking"
)

// readByOthers returns the declaration of all kinds of entries, each with a reader.
func readByOthers(t *testing.T) *keyspace.Keyspace {
	files := fstest.MapFS{}
	for _, name := range []string{"keyspace.yaml", "scripts/put.lua", "scripts/look.lua"} {
		text, err := os.ReadFile("../internal/everykeys/" + name)
		must(t, err)
		files[name] = &fstest.MapFile{Data: regexp.MustCompile(`(?m)(\{|^ {4})(key: |channel: |type: script)`).
			ReplaceAllFunc(text, func(at []byte) []byte {
				i := bytes.IndexAny(at, "kct")
				line := map[byte]string{'{': ", ", ' ': "\n    "}[at[0]]
				return slices.Concat(at[:i], []byte("readers: [reader]"+line), at[i:])
			})}
	}
	ks, found := load.File(files, "keyspace.yaml")
	if found = append(found, lint.Run(ks)...); finding.Count(found).Errors > 0 {
		t.Fatal(found)
	}
	return ks
}

// usersOf makes the users that `keywright acl print` prints on a server, with that for repairs.
func usersOf(t *testing.T, s *keywrighttest.Server) {
	ks := readByOthers(t)
	users, err := acl.Users(ks)
	must(t, err)
	repairs, err := acl.Repair(ks, "repairs")
	must(t, err)
	for _, u := range append(users, repairs) {
		if got := s.Do(append(append([]string{"ACL", "SETUSER"}, u.SetUser()...), "on", ">word")...); got != "OK" {
			t.Fatal(got)
		}
	}
}

// methods returns all that a client does by generated code: each method of each handle, by its name.
func methods(c *keywright.Client) table {
	source := everykeys.New(c)
	k, of := reflect.ValueOf(source), map[string]func(context.Context) error{}
	out, own := table{of, of}, map[string]func(context.Context) error{}
	calls("Keys", k, map[reflect.Type]bool{}, table{own, own})
	for name, call := range own { // what is no handle
		if words := strings.Split(name, "."); len(words) == 2 {
			of["."+words[1]] = call
		}
	}
	for i := range k.NumMethod() {
		title, m := k.Type().Method(i).Name, k.Method(i)
		typ := m.Type()
		if title == "Client" || typ.NumOut() == 0 || !isHandle(typ.Out(0)) || !plain(typ) {
			continue
		}
		delete(of, "."+title)
		calls(title, m.Call(arguments(typ, 0))[0], map[reflect.Type]bool{}, out)
	}
	maps.DeleteFunc(of, func(name string, _ func(context.Context) error) bool {
		return strings.Contains(name, ".Client.") || strings.HasSuffix(name, ".DoAndWait") || strings.HasSuffix(name, ".Do") && name != "Lk.Do"
	})
	maps.Copy(of, wellAsked(source))
	return out
}

// wellAsked are calls of items whose arguments are of their entity.
func wellAsked(k *everykeys.Keyspace) map[string]func(context.Context) error {
	q, items, name := k.Q(), k.ItemStore(), everykeys.ItemFields.Name.Set("x")
	query := entity.Query[everykeys.ItemValue]{Of: items.ByPriMade(1)}
	key, _ := everykeys.ItemKey(1)
	write := entity.TextWrite{Kind: entity.Some, Texts: map[string]string{"name": "x"}, Version: -1}
	kept := k.KeptStore()
	return map[string]func(context.Context) error{
		"Q.Enqueue": func(ctx context.Context) error { return expect.Err(q.Enqueue(ctx, queue.Task[string]{})) },
		"Q.EnqueueAll": func(ctx context.Context) error {
			return expect.Err(q.EnqueueAll(ctx, []queue.Task[string]{{}}))
		},
		"Q.Waiting": func(ctx context.Context) error { return expect.Err(q.Waiting(ctx, "", 0, 10)) },
		"CaCache.InvalidateTag": func(ctx context.Context) error {
			return expect.Err(k.CaCache().InvalidateTag(ctx, k.Zs(1).Key))
		},
		"ItemStore.Repair": func(ctx context.Context) error { return expect.Err(items.Repair(ctx, "1")) },
		"FarStore.Repair":  func(ctx context.Context) error { return expect.Err(k.FarStore().Repair(ctx, "1")) },
		"KeptStore.Repair": func(ctx context.Context) error { return expect.Err(kept.Repair(ctx, "1")) },
		"ItemStore.List":   func(ctx context.Context) error { return expect.Err(items.List(ctx, query)) },
		"ItemStore.IDs":    func(ctx context.Context) error { return expect.Err(items.IDs(ctx, query)) },
		"ItemStore.Each":   func(ctx context.Context) error { return ends(items.Each(ctx, query)) },
		"ItemStore.Count": func(ctx context.Context) error {
			_, _, err := items.Count(ctx, query.Of, "", "")
			return err
		},
		"ItemStore.Update":         func(ctx context.Context) error { return expect.Err(items.Update(ctx, 1, name)) },
		"ItemStore.UpdateIf":       func(ctx context.Context) error { return expect.Err(items.UpdateIf(ctx, 1, 1, name)) },
		"ItemStore.UpdateWith":     func(ctx context.Context) error { return expect.Err(items.UpdateWith(ctx, 1, nil, name)) },
		"ItemStore.Texts.GetQuick": func(ctx context.Context) error { return expect.Err(items.Texts().GetQuick(ctx, key)) },
		"ItemStore.Texts.Get":      func(ctx context.Context) error { _, _, err := items.Texts().Get(ctx, key); return err },
		"ItemStore.Texts.Write":    func(ctx context.Context) error { return expect.Err(items.Texts().Write(ctx, key, write)) },
		"ItemStore.Texts.DeleteSame": func(ctx context.Context) error {
			return expect.Err(items.Texts().DeleteSame(ctx, key, map[string]string{"name": "x"}))
		},
		"KeptStore.Count": func(ctx context.Context) error {
			_, _, err := kept.Count(ctx, kept.ByPri(), "", "")
			return err
		},
		"KeptStore.List": func(ctx context.Context) error {
			return expect.Err(kept.List(ctx, entity.Query[everykeys.KeptValue]{Of: kept.ByPri()}))
		},
		"KeptStore.Update": func(ctx context.Context) error {
			return expect.Err(kept.Update(ctx, 1, everykeys.KeptFields.Name.Set("x")))
		},
		"KeptStore.Texts.Get": func(ctx context.Context) error {
			key, _ := everykeys.KeptKey(1)
			_, _, err := kept.Texts().Get(ctx, key)
			return err
		},
	}
}

func ends[T any](all iter.Seq2[T, error]) (failed error) {
	for _, err := range all {
		failed = errors.Join(failed, err)
	}
	return failed
}

// seeds are methods by which the owner makes what the others look at, and take.
var seeds = []string{"Str.Set", "Bin.Set", "Slide.Set", "Slip.Set", "Flag.Set", "Num.Set", "Obj.Set", "Hsh.Set",
	"Opn.Set", "Cnts.Set", "Lst.PushRight", "Blst.PushRight", "St.Add", "Zs.Add", "Strm.Add", "StrmGGroup.Ensure",
	"Cnt.Set", "Rank.Add", "Ca.Set", "ItemStore.Put", "FarStore.Put", "KeptStore.Put", "Dur.Publish", "Aged.Publish", "Q.Enqueue",
	"Sealed.Set", "Sealeds.Set"}

// waiting are methods that work until their context ends: what they need they have asked for long before.
var waiting = regexp.MustCompile(
	`\.(Run|Serve|Sweeper|Call|Collect|Read|Acquire|AcquireShared|Wait|Do|DoShared|All)$|Sweeper$`)

// ask calls a method as a user, and says what came of it: "" it works, "unsent", or what the server refused.
func ask(t *testing.T, s *keywrighttest.Server, user, name string, call func(context.Context) error) string {
	said, refused := asked(t, s, user, name, call)
	if said != "" && said != "unsent" && !refused { // it may be of the call before, as what gives a lock back at its end
		said, _ = asked(t, s, user, name, call)
	}
	return said
}

// asked calls a method once, and returns also whether its own error says that it was refused.
func asked(t *testing.T, s *keywrighttest.Server, user, name string, call func(context.Context) error) (said string,
	refused bool) {
	s.Do("ACL", "LOG", "RESET")
	patience := 20 * time.Second
	if waiting.MatchString(name) {
		patience = time.Second
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := call(ctx)
	class, _ := keywright.ClassOf(err)
	refused = class == keywright.Refused && strings.Contains(err.Error(), "NOPERM")
	for _, r := range s.Do("ACL", "LOG", "1000").([]any) {
		if text := fmt.Sprint(r); strings.Contains(text, "username "+user+" ") && !strings.Contains(text, "client|setinfo") {
			return text, refused
		}
	}
	switch failed, ok := errors.AsType[*keywright.Error](err); {
	case ok && failed.Class == keywright.Invalid:
		return "unsent", false
	case refused:
		return err.Error(), true
	}
	return "", false
}

// TestEachMethodUnderItsUser: each generated method works for a component that the declaration gives it to, as the user
// that `keywright acl print` prints; the table says for which. What a new method may is to be decided: it has no row.
func TestEachMethodUnderItsUser(t *testing.T) {
	gate.Skip(t, "calls 1,500 methods, some of which wait")
	servertest.Brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		usersOf(t, s)
		as := func(user string) table {
			return methods(open(t, fmt.Sprintf("redis://%s:word@%s", user, s.Addr()),
				keywright.Options{Sealer: servertest.Ring(t, "a")}))
		}
		owner := as("every").calls
		seed := func(prefix string) {
			for _, name := range seeds {
				if owner[name] == nil {
					t.Errorf("there is no %s", name)
					continue
				}
				if strings.HasPrefix(name, prefix) {
					_ = owner[name](t.Context())
				}
			}
		}
		rows := map[string][]string{}
		for _, user := range []string{"every", "reader", "repairs"} {
			seed("")
			all := as(user).calls
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if handle, _, _ := strings.Cut(name, "."); user == "every" && handle != "" {
					seed(handle)
				}
				switch said := ask(t, s, user, name, all[name]); {
				case said == "unsent":
					rows[name] = append(rows[name], user+" (not sent)")
				case said == "":
					rows[name] = append(rows[name], user)
				default:
					t.Logf("%s %s: %s", user, name, said)
				}
			}
			if user == "every" {
				s.Do("FLUSHALL")
			}
		}
		for name := range owner {
			if len(rows[name]) == 0 {
				t.Errorf("%s works for no user that the declaration has", name)
			}
		}
		compareRows(t, rows)
	})
}

// TestTheOwnerBuildsAWindow: a window whose periods are large is added up in steps as the user of the owner.
func TestTheOwnerBuildsAWindow(t *testing.T) {
	t.Parallel()
	servertest.Brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		usersOf(t, s)
		end := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
		for _, day := range []string{"2026-03-01", "2026-03-02"} {
			add := []string{"ZADD", "every:rank:" + day}
			for n := range ranking.AtOnce {
				add = append(add, fmt.Sprint(n), fmt.Sprint(n+1))
			}
			s.Do(add...)
		}
		c := open(t, "redis://every:word@"+s.Addr(), keywright.Options{})
		windows, err := everykeys.New(c).RankWindows([]float64{1, 1})
		must(t, err)
		rows, err := windows.Ending(end).Top(t.Context(), 1)
		if err != nil || len(rows) != 1 || rows[0].Score != 2*(ranking.AtOnce-1) {
			t.Errorf("%v, %v", rows, err)
		}
	})
}

// compareRows compares what works with testdata/users.txt: a line for each handle and for each set of users.
func compareRows(t *testing.T, rows map[string][]string) {
	lines := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		handle, method, _ := strings.Cut(name, ".")
		line := handle + " · " + strings.Join(rows[name], ", ")
		lines[line] = append(lines[line], method)
	}
	var b strings.Builder
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "%s: %s\n", line, strings.Join(lines[line], " "))
	}
	const file = "testdata/users.txt"
	if os.Getenv("KEYWRIGHT_UPDATE") != "" {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want := strings.Split(expect.Text(t, file), "\n")
	for _, line := range strings.Split(b.String(), "\n") {
		if !slices.Contains(want, line) {
			t.Errorf("not in %s: %s", file, line)
		}
	}
	if got := b.String(); strings.Count(got, "\n") != len(want)-1 {
		t.Errorf("%s has %d rows, and there are %d", file, len(want)-1, strings.Count(got, "\n"))
	}
}
