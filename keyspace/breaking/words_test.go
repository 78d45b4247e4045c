package breaking

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// words says of every property of the model what decides about its change: the
// codes of rules, or, after a dash, why it may change. A new property without a
// word fails the test.
var words = map[string]string{
	"Keyspace.Package":  "KW644 KW618",
	"Keyspace.Doc":      "- text for people",
	"Keyspace.Owner":    "- resolved to the owner of each entry: KW626",
	"Keyspace.Cluster":  "- lint judges slots; keys do not move by it",
	"Keyspace.Owns":     "KW604",
	"Keyspace.Inside":   "- it follows from Spaces",
	"Keyspace.Siblings": "- it follows from Spaces",
	"Keyspace.Spaces":   "KW607 KW608",
	"Namespace.Default": "KW601 KW607",
	"Namespace.Name":    "- which one this run looks at",
	"Namespace.Names":   "KW607",
	"Namespace.Pos":     "- where it is in the file",
	"Entry.Namespace":   "KW607",
	"Channel.Namespace": "KW607",
	"Keyspace.Foreign":  "- keys that are not waved through any more are findings of the next audit",
	"Keyspace.Vars":     "KW601 KW613",
	"Keyspace.TTLs":     "- resolved where they are used: KW621 to KW625",
	"Keyspace.Entries":  "KW602 KW641",
	"Keyspace.Keys":     "KW601 KW602",
	"Keyspace.Channels": "KW605 KW641",
	"Keyspace.Events":   "KW629 KW641",
	"Keyspace.Shapes":   "- a law for names, which lint holds",
	"Keyspace.Cleanup":  "KW630",
	"Keyspace.Pressure": "KW636",
	"Keyspace.Janitor":  "KW632 KW634",
	"Keyspace.Retired":  "KW635",
	"Retired.Section":   "KW635",
	"Retired.Name":      "KW635",
	"Retired.Patterns":  "KW635",
	"Retired.Pos":       "- a place in a file",
	"Keyspace.Outputs":  "- where generated files go; gen --check says what is stale",
	"Keyspace.Files":    "- the text that was read",
	"Keyspace.PressureLease": "- a lease of seconds: two versions may each hold one for that long, and what they " +
		"do is idempotent",

	"Entry.Name":      "KW641",
	"Entry.Doc":       "- text for people",
	"Entry.Type":      "KW611 KW620",
	"Entry.Construct": "KW611 KW620",
	"Entry.Keys":      "KW601 KW602",
	"Entry.TTL":       "KW621 KW622 KW623 KW624 KW625",
	"Entry.Owner":     "KW626",
	"Entry.Readers":   "KW627",
	"Entry.Skip":      "- which rules of lint are skipped",
	"Entry.Was":       "KW603 KW606",
	"Entry.Retired":   "KW635",
	"Entry.Notify": "- a derived channel wakes waiters; without a message they look again within a second, a named " +
		"one is a channel: KW605",
	"Entry.Retry": "KW628",

	"Entry.Timeout": "KW628",
	"Entry.Gate":    "KW601 KW602",
	"Entry.Script":  "KW643",
	"Entry.Topic":   "- the channel of which this is the stream",
	"Entry.Pos":     "- a place in a file",
	"Entry.At":      "- places in a file",

	"Key.Entry":   "- the way back",
	"Key.Role":    "KW602",
	"Key.Name":    "KW641",
	"Key.Pattern": "KW601 KW606 KW609 KW610 KW642",
	"Key.Kind":    "KW611",
	"Key.TTL":     "KW621 KW622 KW623 KW624 KW625",
	"Key.Derived": "- whether the name is written or derived; the name itself counts: KW601",
	"Key.Base":    "- how a name is derived; the name itself counts: KW601",
	"Key.Suffix":  "- how a name is derived; the name itself counts: KW601",
	"Key.Doc":     "- text for people",
	"Key.Value":   "KW613 KW619 KW645",
	"Key.Headed":  "- follows from the construct: KW611",
	"Key.JSON":    "KW612 KW613 KW614 KW619 KW645",
	"Key.Member":  "KW613 KW619",
	"Key.Score":   "KW613",
	"Key.Fields":  "KW612 KW613 KW614",
	"Key.Field":   "KW613",
	"Key.Item":    "KW613",
	"Key.Pos":     "- a place in a file",

	"Field.Name": "KW612 KW614",
	"Field.Type": "KW613 KW614 KW619 KW645",
	"Field.Pos":  "- a place in a file",

	"Index.Name":  "KW615",
	"Index.Field": "KW615",
	"Index.Score": "KW615",
	"Index.Key":   "KW615 KW601",
	"Index.Pos":   "- a place in a file",

	"Stamps.Created": "KW633",
	"Stamps.Updated": "KW633",
	"Stamps.Version": "KW633",

	"TTLRule.Field": "KW622",
	"TTLRule.Cases": "KW622",
	"TTLRule.Pos":   "- a place in a file",

	"TTLCase.Word": "KW622",
	"TTLCase.Low":  "KW622",
	"TTLCase.High": "KW622",
	"TTLCase.TTL":  "KW622",

	"TTL.Policy":  "KW621 KW623",
	"TTL.Default": "KW622",
	"TTL.Min":     "KW624",
	"TTL.Max":     "KW622 KW624",
	"TTL.Jitter":  "- within a percentage of what is promised; LiveMax, which it widens, counts: KW622",
	"TTL.Sliding": "KW625",
	"TTL.Name":    "- what it is called in the file",
	"TTL.Text":    "- the same as a text",
	"TTL.Pos":     "- a place in a file",

	"Rate.Count": "KW628",
	"Rate.Per":   "KW628",
	"Rate.Burst": "KW628",

	"Channel.Name":    "KW641",
	"Channel.Doc":     "- text for people",
	"Channel.Pattern": "KW605 KW642",
	"Channel.Message": "KW616",
	"Channel.Owner":   "KW626",
	"Channel.Readers": "KW627",
	"Channel.Derived": "- whether the name is written or derived; the name itself counts: KW605",
	"Channel.Plain":   "KW616",
	"Channel.Sharded": "KW616",
	"Channel.Durable": "KW616 KW628 KW631",
	"Channel.Request": "KW616",
	"Channel.Reply":   "KW616",
	"Channel.ReplyTo": "- a channel of its own: KW605, KW616",
	"Channel.Answers": "- the way back",
	"Channel.Retired": "KW635",
	"Channel.Caller":  "- a placeholder of the reply channel: KW605, KW642",
	"Channel.Pos":     "- a place in a file",
	"Channel.At":      "- places in a file",

	"Durable.Entry":  "- an entry like any other",
	"Durable.MaxLen": "KW628",
	"Durable.Age":    "KW622 KW623",
	"Durable.Groups": "KW631",
	"Durable.Retry":  "KW628",

	"Durable.Timeout": "KW628",
	"Durable.Dead":    "KW601",

	"Event.Name":    "KW641",
	"Event.Doc":     "- text for people",
	"Event.With":    "KW642",
	"Event.Deletes": "KW629",
	"Event.Emits":   "KW629",
	"Event.Pos":     "- a place in a file",
	"Event.At":      "- places in a file",

	"Cleanup.Match": "KW630",
	"Cleanup.Idle":  "KW630",
	"Cleanup.Older": "KW630",
	"Cleanup.Keep":  "KW630",
	"Cleanup.Pos":   "- a place in a file",

	"Glob.Text":    "KW604 KW630",
	"Glob.Pattern": "KW604 KW630",
	"Glob.Pos":     "- a place in a file",
	"Glob.Sibling": "- of a namespace: KW607",

	"Var.Name":    "- what it is called in the file; a placeholder that is called so counts: KW642",
	"Var.Type":    "KW601 KW613",
	"Var.Pos":     "- a place in a file",
	"Var.Retired": "KW635",
	"Var.Used":    "- whether something refers to it; what does counts",

	"NamedTTL.Name": "- what it is called in the file",
	"NamedTTL.TTL":  "- resolved where it is used: KW621 to KW625",
	"NamedTTL.Pos":  "- a place in a file",
	"NamedTTL.Used": "- whether something refers to it; what does counts",

	"Output.Target": "- which files are generated; gen --check says what is stale",
	"Output.Folder": "- where generated files go; gen --check says what is stale",
	"Output.Pos":    "- a place in a file",

	"Shape.Text":          "- a law for names, which lint holds",
	"Shape.Parts":         "- the law in parts",
	"Shape.Pos":           "- a place in a file",
	"ShapePart.Literal":   "- a part of the law for names",
	"ShapePart.Name":      "- a part of the law for names",
	"ShapePart.Type":      "- a part of the law for names; the type of a key's placeholder counts: KW601",
	"ShapePart.Separator": "- a part of the law for names",
	"ShapePart.Optional":  "- a part of the law for names",

	"File.Name": "- what the file is called",
	"File.Text": "- the text that was read",

	"Pressure.At":      "KW636",
	"Pressure.Entry":   "KW636",
	"Pressure.Index":   "KW636",
	"Pressure.Values":  "KW636",
	"Pressure.Shorten": "KW636",
	"Pressure.Release": "KW636",
	"Pressure.Pos":     "- a place in a file",
	"Pressure.Places":  "- places in a file",

	"Job.Name":   "- what it does counts, not how it is called: KW632",
	"Job.Doc":    "- text for people",
	"Job.Do":     "KW632 KW634",
	"Job.When":   "- how often it is done; it is done in the end",
	"Job.Entry":  "KW632 KW634",
	"Job.Keep":   "KW632",
	"Job.Pos":    "- a place in a file",
	"Job.Places": "- places in a file",

	"Keyspace.Migrations": "KW638",
	"Migration.Name":      "KW638",
	"Migration.Package":   "- that of the keyspace",
	"Migration.Doc":       "- text for people",
	"Migration.Sources":   "KW637",
	"Source.Name":         "- what moves call it: KW637 looks at the file",
	"Source.Doc":          "- text for people",
	"Source.File":         "KW637",
	"Source.Format":       "KW637",
	"Source.Pos":          "- a place in a file",
	"Source.At":           "- places in a file",
	"Migration.Parts":     "KW638",
	"Part.Name":           "KW638",
	"Part.Doc":            "- text for people",
	"Part.Moves":          "KW637",
	"Move.Name":           "KW637",
	"Move.Source":         "KW637",
	"Move.From":           "KW637",
	"Move.To":             "KW637",
	"Move.Kind":           "KW637",
	"Move.With":           "KW637",
	"Bound.Name":          "KW637",
	"Bound.Term":          "KW637",
	"Bound.Pos":           "- a place in a file",
	"Move.Field":          "KW637",
	"Move.Member":         "KW637",
	"Move.Score":          "KW637",
	"Move.Value":          "KW637",
	"Move.Fields":         "KW637",
	"Move.Tries":          "KW637",
	"Move.TTL":            "KW637",
	"TTLSource.From":      "KW637",
	"TTLSource.Until":     "KW637",
	"TTLSource.Over":      "KW637",
	"TTLSource.Pos":       "- a place in a file",
	"Move.Told":           "KW637",
	"Move.Except":         "KW637",
	"Move.Kept":           "KW637",
	"Move.Pos":            "- a place in a file",
	"Move.At":             "- places in a file",
	"Part.Gates":          "KW639",
	"Gates.Compared":      "KW639",
	"Gates.Unequal":       "KW639",
	"Gates.For":           "KW639",
	"Gates.Marks":         "KW639",
	"Gates.Backup":        "KW639",
	"Gates.Pos":           "- a place in a file",
	"Part.Pos":            "- a place in a file",
	"Migration.Compare":   "KW639",
	"CompareRule.Entry":   "KW639",
	"CompareRule.Field":   "KW639",
	"CompareRule.As":      "KW639",
	"CompareRule.Owner":   "- who answers for a rule",
	"CompareRule.Until":   "KW639",
	"CompareRule.Doc":     "- text for people",
	"CompareRule.Pos":     "- a place in a file",
	"Migration.Ignore":    "KW639",
	"Ignored.Source":      "KW639",
	"Ignored.From":        "KW639",
	"Ignored.Reason":      "- why it may stay",
	"Ignored.Pos":         "- a place in a file",
	"Migration.Pos":       "- a place in a file",

	"StreamSpec.MaxLen": "KW628",
	"StreamSpec.Groups": "KW631",

	"CacheSpec.Fresh":  "- when a value is loaded early; nothing that is stored depends on it",
	"CacheSpec.Absent": "- how long an absence is remembered; both versions read what the other wrote",

	"QueueSpec.Order": "- the lanes: the placeholder and its values are parameters, KW642 and KW601",
	"QueueSpec.Lease": "KW628",
	"QueueSpec.Shape": "KW612 KW613 KW614 KW619",

	"RankingSpec.Ties":   "KW617",
	"RankingSpec.Cached": "- how long a computed window is kept; it is computed again",

	"EntitySpec.Index":  "KW615",
	"EntitySpec.Emits":  "KW629",
	"EntitySpec.Stamps": "KW633",
	"EntitySpec.TTLBy":  "KW622",

	"RateLimitSpec.Rate":   "KW628",
	"RateLimitSpec.Method": "KW617",

	"ScriptSpec.File":    "- where its text is: each process sends its own",
	"ScriptSpec.Text":    "- each process sends its own text; what callers see counts: KW643",
	"ScriptSpec.Keys":    "KW643",
	"ScriptSpec.Args":    "KW643",
	"ScriptSpec.Returns": "KW643",
	"ScriptSpec.Effect":  "- whether a lost reply is sent again; each process does as its own text bears",

	"Type.Kind":      "KW613 KW619 KW645",
	"Type.Max":       "KW613",
	"Type.Rest":      "KW601",
	"Type.HasMin":    "KW613",
	"Type.HasMax":    "KW613",
	"Type.Low":       "KW613",
	"Type.High":      "KW613",
	"Type.N":         "KW613",
	"Type.Layout":    "KW613",
	"Type.Values":    "KW613",
	"Type.Expr":      "KW613",
	"Type.File":      "KW613",
	"Type.Optional":  "KW614 KW645",
	"Type.Encrypted": "KW613",
	"Type.Var":       "KW645",
	"Type.Default":   "KW642",
}

// TestEveryPropertyHasAWord goes through the model by reflection.
func TestEveryPropertyHasAWord(t *testing.T) {
	var codes []string
	for _, r := range Rules() {
		codes = append(codes, r.Code)
	}
	seen := map[string]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map}, typ.Kind()) {
			typ = typ.Elem()
		}
		of := []string{reflect.TypeFor[keyspace.Keyspace]().PkgPath(), reflect.TypeFor[scalar.Type]().PkgPath()}
		if typ.Kind() != reflect.Struct || seen[typ.Name()] || !slices.Contains(of, typ.PkgPath()) {
			return
		}
		seen[typ.Name()] = true
		for i := range typ.NumField() {
			field := typ.Field(i)
			name := typ.Name() + "." + field.Name
			word := words[name]
			switch {
			case !field.IsExported():
				continue
			case field.Anonymous: // what one construct has
				visit(field.Type)
				continue
			case word == "":
				t.Errorf("%s has no word: which rule decides about its change, or why may it change?", name)
			case !strings.HasPrefix(word, "- "):
				for code := range strings.FieldsSeq(word) {
					if !slices.Contains(codes, code) {
						t.Errorf("%s is decided by %s, which is no rule", name, code)
					}
				}
			}
			seen[name] = true
			visit(field.Type)
		}
	}
	visit(reflect.TypeFor[keyspace.Keyspace]())
	for name := range words {
		if !seen[name] {
			t.Errorf("%s has a word, and is no property", name)
		}
	}
}

// TestEveryWordIsTrue: for each property that rules decide, some change of it is in the
// table of cases, and one of its rules finds that change.
func TestEveryWordIsTrue(t *testing.T) {
	held := map[string]bool{}
	for code, c := range cases {
		for _, x := range c.bad {
			old, new := loaded(t, file(x.old)), loaded(t, file(x.new))
			if !has(Run(old, new), code) {
				continue
			}
			before, after := valuesOf(old), valuesOf(new)
			for name, word := range words {
				if slices.Contains(strings.Fields(word), code) && before[name] != after[name] {
					held[name] = true
				}
			}
		}
	}
	for name, word := range words {
		if !strings.HasPrefix(word, "- ") && !held[name] {
			t.Errorf("%s: no case of %s changes it", name, word)
		}
	}
}

// valuesOf returns the values of each property of a model, in their order.
func valuesOf(ks *keyspace.Keyspace) map[string]string {
	out, met := map[string]string{}, map[any]string{}
	var visit func(v reflect.Value) string
	visit = func(v reflect.Value) string {
		switch v.Kind() {
		case reflect.Pointer:
			if p, ok := v.Interface().(*pattern.Pattern); ok && p != nil {
				return p.Language()
			}
			if v.IsNil() {
				return "none"
			}
			if text, ok := met[v.Interface()]; ok {
				return text
			}
			met[v.Interface()] = "the way back"
			met[v.Interface()] = visit(v.Elem())
			return met[v.Interface()]
		case reflect.Slice, reflect.Array:
			text := ""
			for i := range v.Len() {
				text += visit(v.Index(i)) + ";"
			}
			return text
		case reflect.Struct:
			if s, ok := v.Interface().(interface{ String() string }); ok &&
				!strings.HasPrefix(v.Type().PkgPath(), "github.com/keywright/keywright/keyspace") {
				return s.String()
			}
			text := ""
			for i := range v.NumField() {
				f := v.Type().Field(i)
				if name := v.Type().Name() + "." + f.Name; f.IsExported() && !strings.HasSuffix(words[name], "a place in a file") &&
					!strings.HasSuffix(words[name], "places in a file") {
					inner := visit(v.Field(i))
					out[name] += inner + "|"
					text += inner + ","
				}
			}
			return text
		case reflect.Interface:
			return ""
		}
		return fmt.Sprint(v.Interface())
	}
	visit(reflect.ValueOf(ks))
	return out
}

// TestOneCauseIsOneFinding: a var that was narrowed is named, once, whatever uses
// it.
func TestOneCauseIsOneFinding(t *testing.T) {
	uses := "keys:\n  a: {key: \"a:{v}\", type: string, value: v, ttl: none}\n  b: {key: \"b:{v}\", type: set, member: " +
		"v, ttl: none}\n  d: {key: \"d:{v}\", type: hash, fields: {f: v}, ttl: none}"
	found := Run(loaded(t, file("vars: {v: int 1..}\n"+uses)), loaded(t, file("vars: {v: int 5..}\n"+uses)))
	count := map[string]int{}
	for _, f := range found {
		count[f.Code]++
		if strings.Contains(f.Fix, "add") || f.Code == "KW601" && f.Order != orderOfVars { // under was a var has its new type, too
			t.Errorf("%+v", f)
		}
		if f.Pos.Line != 3 || !strings.Contains(f.Message, "the var v was int 1.. and is int 5..") ||
			!strings.Contains(f.Message, "so it is with b, d") {
			t.Errorf("%s at line %d: %s", f.Code, f.Pos.Line, f.Message)
		}
	}
	if len(found) != 2 || count["KW601"] != 1 || count["KW613"] != 1 {
		t.Errorf("%v", count)
	}
}

// TestOrderOfDeployment: every rule says in which order a change is safe, and so
// does every finding.
func TestOrderOfDeployment(t *testing.T) {
	for _, r := range rules {
		if r.order == "" {
			t.Errorf("%s has no order of deployment", r.Code)
		}
		for _, x := range cases[r.Code].bad {
			for _, f := range Run(loaded(t, file(x.old)), loaded(t, file(x.new))) {
				if f.Order == "" {
					t.Errorf("%s says nothing of the order", f.Code)
				}
			}
		}
	}
}

// TestOrderOfIndexes: an index that is new, gone or at other keys has an order of its
// own, which ends with the command that completes it.
func TestOrderOfIndexes(t *testing.T) {
	for _, c := range []struct{ name, old, new, order string }{
		{"new", `index: {k: "mi:{k}"}`, `index: {k: "mi:{k}", at: mat}`, indexAdded},
		{"gone", `index: {k: "mi:{k}", at: mat}`, `index: {k: "mi:{k}"}`, indexRemoved},
		{"moved", `index: {k: "mi:{k}"}`, `index: {k: "mj:{k}"}`, indexMoved},
		{"sorted by all", `index: {at: mat}`, `index: {at: "mat:{at}"}`, indexMoved},
		{"the same", `index: {k: "mi:{k}"}`, `index: {k: "mi:{k}"}`, ""},
	} {
		was := strings.Replace(memo, `index: {k: "mi:{k}"}`, c.old, 1)
		is := strings.Replace(memo, `index: {k: "mi:{k}"}`, c.new, 1)
		order := ""
		for _, f := range Run(loaded(t, file("keys:\n  "+was)), loaded(t, file("keys:\n  "+is))) {
			if f.Code == "KW615" {
				order = f.Order
			}
		}
		if order != c.order {
			t.Errorf("%s: %q", c.name, order)
		}
	}
}
