package infer_test

import (
	"slices"
	"testing"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/source"
)

// TestMergeIntoWhatIsOurs: keys that only a namespace or a glob of owns has are ours and
// not declared yet: a merge drafts them, however many there are.
func TestMergeIntoWhatIsOurs(t *testing.T) {
	for what, head := range map[string]string{"namespace": "namespace: app", "owns": `owns: ["app:*"]`} {
		original := "keywright: 1\npackage: ours\n" + head + "\nvars: {user_id: int 1..}\nkeys:\n  user: {key: \"app:user:{user_id}\", type: hash, ttl: none}\n"
		in, err := infer.New(infer.Options{Known: loaded(t, []byte(original))})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range slices.Concat(repeat(5, "app:user:# hash"), repeat(5, "app:new:# hash 1h")) {
			in.Add([]source.Key{key(line)})
		}
		d := in.Draft()
		merged, err := d.Merge([]byte(original))
		if err != nil {
			t.Fatal(err)
		}
		if ks := loaded(t, merged); d.Known.Keys != 5 || len(ks.Entries) != 2 {
			t.Errorf("%s: %d known, %d entries\n%s", what, d.Known.Keys, len(ks.Entries), merged)
		}
	}
}
