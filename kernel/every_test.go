package kernel_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/kernel"
)

var contextType = reflect.TypeFor[context.Context]()

// argument returns a value of a type that a call accepts.
func argument(t reflect.Type) reflect.Value {
	switch t {
	case reflect.TypeFor[time.Time]():
		return reflect.ValueOf(time.Now())
	case reflect.TypeFor[time.Duration]():
		return reflect.ValueOf(10 * time.Second)
	}
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.String:
		v.SetString("x")
	case reflect.Slice:
		v = reflect.Append(v, argument(t.Elem()))
	case reflect.Map:
		v = reflect.MakeMap(t)
		v.SetMapIndex(argument(t.Key()), argument(t.Elem()))
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(argument(t.Field(i).Type))
			}
		}
	case reflect.Pointer:
		if k := t.Elem().Kind(); k == reflect.Int64 || k == reflect.String {
			v = reflect.New(t.Elem())
			v.Elem().Set(argument(t.Elem()))
		}
	case reflect.Func:
		v = reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value {
			out := make([]reflect.Value, t.NumOut())
			for i := range out {
				out[i] = reflect.Zero(t.Out(i))
			}
			return out
		})
	}
	return v
}

// arguments returns what a method is called with, after its context.
func arguments(method reflect.Type, from int) (in []reflect.Value) {
	for i := from; i < method.NumIn(); i++ {
		at := method.In(i)
		if method.IsVariadic() && i == method.NumIn()-1 {
			if k := at.Elem().Kind(); k != reflect.Func && k != reflect.Struct { // no options, no further locks
				in = append(in, argument(at.Elem()))
			}
			continue
		}
		in = append(in, argument(at))
	}
	return in
}

// endless run until their context ends and then see to what they have begun, which
// has a time of its own.
var endless = []string{"Run", "Serve", "Sweeper"}

// quiet ask no server.
var quiet = []string{"Notice", "While", "Ended"}

// table holds calls by their names, those that are endless apart.
type table struct {
	calls, endless map[string]func(context.Context) error
}

// calls are all operations of a handle, its methods with a context, and those of the
// handles that its methods without one give.
func calls(name string, handle reflect.Value, seen map[reflect.Type]bool, out table) {
	if seen[handle.Type()] {
		return
	}
	seen[handle.Type()] = true
	for i := range handle.NumMethod() {
		if slices.Contains(quiet, handle.Type().Method(i).Name) {
			continue
		}
		title := name + "." + handle.Type().Method(i).Name
		m := handle.Method(i)
		typ := m.Type()
		switch {
		case typ.NumIn() > 0 && typ.In(0) == contextType:
			into := out.calls
			if slices.Contains(endless, handle.Type().Method(i).Name) {
				into = out.endless
			}
			into[title] = func(ctx context.Context) error {
				return result(m.Call(append([]reflect.Value{reflect.ValueOf(ctx)}, arguments(typ, 1)...)))
			}
		case typ.NumOut() == 1 && isOperation(typ.Out(0)) && plain(typ):
			out.calls[title] = func(ctx context.Context) error {
				op := m.Call(arguments(typ, 0))[0]
				return result(op.MethodByName("Do").Call([]reflect.Value{reflect.ValueOf(ctx)}))
			}
			calls(title, m.Call(arguments(typ, 0))[0], seen, out)
		case typ.NumOut() > 0 && isHandle(typ.Out(0)) && plain(typ):
			given := m.Call(arguments(typ, 0))
			if err, _ := given[len(given)-1].Interface().(error); err == nil && !given[0].IsZero() {
				calls(title, given[0], seen, out)
			}
		}
	}
}

// plain reports whether a method takes neither interfaces nor pointers, nor what has them,
// for which there is no argument.
func plain(method reflect.Type) bool {
	for i := range method.NumIn() {
		k := method.In(i).Kind()
		if k == reflect.Interface || k == reflect.Pointer || method.In(i) == reflect.TypeFor[keywright.Binding]() {
			return false
		}
	}
	return true
}

// isOperation reports whether a type is an operation that has not run yet.
func isOperation(t reflect.Type) bool {
	name, _, _ := strings.Cut(t.Name(), "[")
	return t.PkgPath() == "github.com/keywright/keywright/kernel" && (name == "Op" || name == "Act")
}

// isHandle reports whether a type of this module has operations, or methods with a
// context.
func isHandle(t reflect.Type) bool {
	at := t
	if t.Kind() == reflect.Pointer {
		at = t.Elem()
	}
	if !strings.HasPrefix(at.PkgPath(), "github.com/keywright/keywright") || t.Kind() == reflect.Interface {
		return false
	}
	for i := range t.NumMethod() {
		m := t.Method(i).Type
		if m.NumIn() > 1 && m.In(1) == contextType || m.NumOut() == 1 && isOperation(m.Out(0)) || t.Method(i).Name == "Of" ||
			t.Method(i).Name == "Ending" {
			return true
		}
	}
	return false
}

// result returns the error of a call; what gives an iterator is read to its end.
func result(out []reflect.Value) error {
	if len(out) == 0 {
		return nil
	}
	last := out[len(out)-1]
	if last.Kind() == reflect.Func && last.Type().NumIn() == 1 && last.Type().In(0).Kind() == reflect.Func {
		var failed error
		last.Call([]reflect.Value{reflect.MakeFunc(last.Type().In(0), func(in []reflect.Value) []reflect.Value {
			if err, ok := in[len(in)-1].Interface().(error); ok {
				failed = err
			}
			return []reflect.Value{reflect.ValueOf(true)}
		})})
		return failed
	}
	err, _ := last.Interface().(error)
	return err
}

// everything returns all calls of all kinds of handles, and what has no handle.
func everything(t testing.TB, c *keywright.Client) map[string]func(context.Context) error {
	out, _ := allOf(t, c)
	return out
}

// allOf returns everything, with the types whose methods are in it.
func allOf(t testing.TB, c *keywright.Client) (map[string]func(context.Context) error, map[reflect.Type]bool) {
	k := everykeys.New(c)
	out := map[string]func(context.Context) error{
		"batch": func(ctx context.Context) error {
			var b keywright.Batch
			keywright.Queue(&b, k.Str(1).Set("y"))
			keywright.Queue(&b, k.Str(2).Get())
			return b.Run(ctx)
		},
		"all": func(ctx context.Context) error {
			return kernel.DoAll(ctx, k.Str(1).Delete(), k.Str(2).Delete())
		},
		"transaction": func(ctx context.Context) error {
			return c.Transact(ctx, func(tx *keywright.Tx) error {
				keywright.Queue(tx, k.Str(1).Set("y"))
				return nil
			})
		},
		"transaction that watches": func(ctx context.Context) error {
			return c.Transact(ctx, func(tx *keywright.Tx) error {
				if _, err := keywright.Watch(tx, k.Str(1).Get()); err != nil && err != keywright.ErrNotFound {
					return err
				}
				keywright.Queue(tx, k.Str(1).Set("y"))
				return nil
			})
		},
	}
	seen := map[reflect.Type]bool{}
	all := table{out, map[string]func(context.Context) error{}}
	calls("Client", reflect.ValueOf(c), seen, all)
	calls("Keys", reflect.ValueOf(k), seen, all)
	undeclared(c, k, seen, all)
	for name, handle := range guarded(t, c, k) {
		calls(name, reflect.ValueOf(handle), seen, all)
	}
	tiered := tieredOf(t, c)
	for name, handle := range map[string]any{"Tiered": tiered, "Tiered.Item": tiered.Key("{every:more}:tier", nil)} {
		delete(seen, reflect.TypeOf(handle))
		calls(name, reflect.ValueOf(handle), seen, all)
	}
	delete(out, "Client.Transact") // nothing is queued there: see the two above
	return out, seen
}

// TestEverythingIsFound: the table of calls is one of all constructs.
func TestEverythingIsFound(t *testing.T) {
	out := everything(t, kernel.New(nothing{}, keywright.Options{}))
	for _, name := range []string{"Client.Check", "Client.Subscribe", "Keys.Lst.PushRight", "Keys.Lk.Acquire",
		"Keys.Q.Enqueue", "Keys.Ca.GetOrLoad",
		"Keys.ItemStore.Create", "Keys.Dur.Publish", "Keys.RankBoard.Of.Top", "Keys.TopTopic.Publish",
		"Keys.AskExchange.Call", "Keys.Rate.Allow", "Keys.Cnt.AddWithin",
		"Quorum.Acquire", "Version.Bump", "Exact.AddOnce", "Day.Mark", "Lanes.Reconcile", "Gate.Do",
		"Fallback.Get", "Fallback.Put", "Fallback.Guard.Update", "Tiered.GetOrLoadMany", "Tiered.Item.Get", "Keys.Put",
		"Keys.Look",
		"Keys.Sealed.Set", "Keys.Sealeds.Get", "Keys.FarStore.Create"} {
		if out[name] == nil {
			t.Errorf("%s is not among them", name)
		}
	}
	if len(out) < 250 {
		names := make([]string, 0, len(out))
		for name := range out {
			names = append(names, name)
		}
		slices.Sort(names)
		t.Errorf("%d calls: %v", len(out), names)
	}
}

// TestAChangeOfNothing: the zero change of an entity is refused, and does not panic.
func TestAChangeOfNothing(t *testing.T) {
	store := everykeys.New(kernel.New(nothing{}, keywright.Options{})).ItemStore()
	_, err := store.Update(t.Context(), 1, entity.Change[everykeys.ItemValue]{})
	if class, _ := keywright.ClassOf(err); class != keywright.Invalid {
		t.Errorf("%v", err)
	}
}
