package explain

import (
	"fmt"
	"slices"

	"github.com/keywright/keywright/keyspace"
)

// Entry describes what there is to say of an entry; its JSON names are stable.
type Entry struct {
	Name      string     `json:"name"`
	Type      string     `json:"type"`
	Doc       string     `json:"doc,omitempty"`
	File      string     `json:"file"`
	Line      int        `json:"line"`
	Owner     string     `json:"owner,omitempty"`
	Readers   []string   `json:"readers,omitempty"`
	Keys      []EntryKey `json:"keys"`
	Lives     []string   `json:"ttl_by,omitempty"`
	Stamps    []string   `json:"stamps,omitempty"`
	Channels  []string   `json:"channels,omitempty"`
	Deletes   []string   `json:"deleted_by,omitempty"`
	Was       []string   `json:"was,omitempty"`
	Retired   []string   `json:"retired,omitempty"` // fields that it had
	Script    string     `json:"script,omitempty"`
	ScriptFor []string   `json:"script_keys,omitempty"`
}

// EntryKey represents one key of an entry.
type EntryKey struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
	Type    string `json:"type"`
	TTL     string `json:"ttl"`
	Derived bool   `json:"derived"`
	Example string `json:"example"` // a key that the pattern matches
	Doc     string `json:"doc,omitempty"`
}

// EntryOf says what an entry is. prefix is before the names of its files.
func EntryOf(ks *keyspace.Keyspace, e *keyspace.Entry, prefix string) Entry {
	answer := Entry{Name: e.Name, Type: e.Type, Doc: e.Doc, File: prefix + e.Pos.File, Line: e.Pos.Line, Owner: e.Owner,
		Readers: e.Readers, Keys: []EntryKey{}}
	for _, k := range e.Keys {
		answer.Keys = append(answer.Keys,
			EntryKey{k.Name, k.Pattern.String(), string(k.Kind), k.TTL.String(), k.Derived, string(k.Pattern.Example()), k.Doc})
	}
	if e.TTLBy != nil {
		for _, c := range e.TTLBy.Cases {
			answer.Lives = append(answer.Lives, fmt.Sprintf("%s %s: %s", e.TTLBy.Field, c.Word, keyspace.FormatDuration(c.TTL)))
		}
	}
	for _, stamp := range [][2]string{{"created", e.Stamps.Created}, {"updated", e.Stamps.Updated},
		{"version", e.Stamps.Version}} {
		if stamp[1] != "" {
			answer.Stamps = append(answer.Stamps, stamp[0]+": "+stamp[1])
		}
	}
	answer.announced(ks, e)
	for _, w := range e.Was {
		answer.Was = append(answer.Was, w.String())
	}
	for _, r := range e.Retired {
		answer.Retired = append(answer.Retired, r.Name)
	}
	if e.Script != nil {
		answer.Script, answer.ScriptFor = e.Script.File, e.Script.Keys
	}
	return answer
}

// announced adds the channels of an entry and the events that delete it.
func (a *Entry) announced(ks *keyspace.Keyspace, e *keyspace.Entry) {
	if e.Notify != nil {
		a.Channels = append(a.Channels, e.Notify.Pattern.String())
	}
	for _, what := range []string{"create", "update", "delete", "expire"} {
		if name := e.Emits[what]; name != "" {
			a.Channels = append(a.Channels, name+" ("+what+")")
		}
	}
	for _, ev := range ks.Events {
		if slices.Contains(ev.Deletes, e.Name) {
			a.Deletes = append(a.Deletes, ev.Name)
		}
	}
}
