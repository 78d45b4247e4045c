package saving

import (
	"fmt"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// TornKeys says of which keys archives have what never was their value; its JSON names are stable.
type TornKeys struct {
	Torn     int64             `json:"torn,omitempty"`      // keys that were written to while they were read in parts
	Unsure   int64             `json:"unsure,omitempty"`    // values in parts of a run that was killed: they may be torn
	TornKeys []finding.JSONKey `json:"torn_keys,omitempty"` // some of them
}

// TornIn returns what archives say of torn values. Those that are named count only if they are meant.
func TornIn(c *archive.Chain, meant func(key []byte) bool) (t TornKeys) {
	if c == nil {
		return t
	}
	for _, a := range c.Archives() {
		t.add(&a.Index, meant)
	}
	return t
}

// add adds what the index of an archive says.
func (t *TornKeys) add(index *archive.Index, meant func(key []byte) bool) {
	t.Torn += index.Torn
	t.Unsure += index.Unsure
	for _, key := range index.TornKeys {
		if meant(key) {
			t.TornKeys = append(t.TornKeys, finding.JSONKey(key))
		} else {
			t.Torn--
		}
	}
}

// Notes says it in sentences.
func (t *TornKeys) Notes() (out []string) {
	if t.Torn > 0 {
		var names []string
		for _, key := range t.TornKeys[:min(len(t.TornKeys), 10)] {
			names = append(names, finding.Key(key))
		}
		if more := t.Torn - int64(len(names)); more > 0 && len(names) > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		out = append(out,
			fmt.Sprintf("torn, written to each time they were read in parts, so that what the archive has never "+
				"was their value: %d (%s)", t.Torn, source.Named(names)))
	}
	if t.Unsure > 0 {
		out = append(out, unsure(t.Unsure))
	}
	return out
}

// everyKey means all keys.
func everyKey([]byte) bool { return true }

// tornSet returns the keys of which an archive says that their values are torn: of one that has no index, none.
func tornSet(path string, keys archivefile.Keys) (set map[string]bool, said TornKeys) {
	in, err := archivefile.Open(path, keys)
	if err != nil {
		return nil, said
	}
	defer in.Close()
	said.add(&in.Index, everyKey)
	set = said.set()
	if in.Meta.Base != "" { // it adds to another one, and is listed alone
		said.TornKeys = nil
	}
	return set, said
}

// set returns the keys that are named.
func (t *TornKeys) set() map[string]bool {
	out := map[string]bool{}
	for _, key := range t.TornKeys {
		out[string(key)] = true
	}
	return out
}
