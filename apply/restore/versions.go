package restore

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb/dump"
)

// versions says payloads of which RDB versions a server takes. A server is asked about each version once, by a RESTORE
// that it cannot carry out: what it complains of tells. No version of the program says it: builds between two releases
// and forks write and load what their names do not tell.
type versions struct {
	mu    sync.Mutex
	takes map[int]bool
	all   bool // that could be written instead were asked about
}

// trialValue is a payload's value of no type: a server that takes the version refuses the value.
var trialValue = []byte{255}

// learn asks about the versions of records that were not asked about yet, and where the server does not take one, about
// all that could be written instead.
func (v *versions) learn(ctx context.Context, raw kernel.Raw, run string, records []*record) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, rec := range records {
		if _, known := v.takes[rec.RDB]; known || rec.Form != archive.Dump {
			continue
		}
		name := temporaryName(run, rec.Place.Key)
		if err := v.ask(ctx, raw, name, []int{rec.RDB}); err != nil {
			return err
		}
		if !v.takes[rec.RDB] && !v.all {
			if err := v.ask(ctx, raw, name, dump.Versions()); err != nil {
				return err
			}
			v.all = true
		}
	}
	return nil
}

// ask asks about versions. An error says that it is not known.
func (v *versions) ask(ctx context.Context, raw kernel.Raw, name string, list []int) error {
	commands := make(kernel.Commands, len(list))
	for i, version := range list {
		commands[i] = raw.B().Restore().Key(name).Ttl(keeps.Milliseconds()).
			SerializedValue(withFooter(slices.Clone(trialValue), version)).Build()
	}
	for i, reply := range raw.DoMulti(ctx, commands...) {
		err := reply.Error()
		what, reason := Judge(err)
		if what == Unknown {
			return err
		}
		if v.takes == nil {
			v.takes = map[int]bool{}
		}
		// Another refusal, as of a key that is out of reach, says nothing of the version: RESTORE itself will tell.
		v.takes[list[i]] = !strings.Contains(reason, "payload version")
	}
	return nil
}

// of returns the version in which a payload of another one is written: the same if the server takes it, else the newest
// that it takes of those before both families of servers went ways of their own.
func (v *versions) of(version int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if takes, known := v.takes[version]; takes || !known {
		return version
	}
	for _, older := range slices.Backward(dump.Versions()) {
		if v.takes[older] {
			return older
		}
	}
	return 0
}

// withFooter appends what follows the value in a payload: the version and a checksum.
func withFooter(value []byte, version int) string {
	b := binary.LittleEndian.AppendUint16(value, uint16(version))
	return string(binary.LittleEndian.AppendUint64(b, dump.Sum(b)))
}
