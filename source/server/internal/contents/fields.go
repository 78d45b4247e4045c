package contents

import (
	"errors"
	"strconv"
	"strings"

	"github.com/keywright/keywright/source/server/internal/link"
)

// errFieldEnds is why a hash is not read in parts: these have no expiries of fields.
var errFieldEnds = errors.New("fields of it expire, and it is too large for one step: in parts they would live forever")

// errEndsDenied is why a hash is not read in parts where the user may not ask for them.
var errEndsDenied = errors.New("it is too large for one step, and the user may not ask which fields of it expire: " +
	"grant +hpexpiretime")

// fieldsExpire reports whether a server has hashes whose fields expire: Redis from 7.4,
// Valkey from 9.0. There the user also needs HPEXPIRETIME, to read large hashes.
func fieldsExpire(brand, version string) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, _ := strconv.Atoi(first)
	minor, _ := strconv.Atoi(second)
	if brand == "valkey" {
		return major >= 9
	}
	return major > 7 || major == 7 && minor >= 4
}

// unreleased is the first version of a build that is of no release, as 255.255.255: what it can, only it tells.
const unreleased = "255."

// ends returns an error if a field of a page of a hash expires. elements are fields and values.
func (p *parted) ends(key string, elements []any) error {
	if len(elements) < 2 || !fieldsExpire(p.Shard.Before.Brand, p.Shard.Before.Version) {
		return nil
	}
	args := []string{"HPEXPIRETIME", key, "FIELDS", strconv.Itoa(len(elements) / 2)}
	for i := 0; i+1 < len(elements); i += 2 {
		field, _ := elements[i].(string)
		args = append(args, field)
	}
	reply, err := p.command(args...)
	if no, _ := link.Refused(err); no {
		return errEndsDenied
	}
	if link.Unavailable(err) && strings.HasPrefix(p.Shard.Before.Version, unreleased) {
		return nil
	}
	if err != nil {
		return err
	}
	return anyEnds(reply)
}

// anyEnds returns an error if HPEXPIRETIME says of a field that it expires. -1 says that it does
// not, -2 that it is gone.
func anyEnds(reply any) error {
	list, _ := reply.([]any)
	for _, at := range list {
		if n, ok := at.(int64); !ok || n >= 0 {
			return errFieldEnds
		}
	}
	return nil
}
