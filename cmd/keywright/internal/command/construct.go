package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// withConstructs loads the declaration, finds its entries of one type (all, or
// those named), connects, and runs.
func (a *app) withConstructs(ctx context.Context, of keyspace.Construct, names []string, run func(*keywright.Client, []*keyspace.Entry) error) error {
	d, path, err := a.usable()
	if err != nil {
		return err
	}
	entries, err := constructsOf(d.Keyspace, of, names, path)
	if err != nil {
		return err
	}
	a.keyspace = d.Keyspace
	if _, err := a.server(); err != nil {
		return err
	}
	c, err := keywright.Open(ctx, a.url, keywright.Options{CAFile: a.connect.CAFile, CertFile: a.connect.CertFile, KeyFile: a.connect.KeyFile,
		ServerName: a.connect.ServerName, Insecure: a.connect.Insecure, Timeout: a.connect.Timeout, NoCache: true, Getenv: a.Getenv})
	if err != nil {
		return aclFailure(err)
	}
	defer c.Close()
	return aclFailure(run(c, entries))
}

func constructsOf(ks *keyspace.Keyspace, of keyspace.Construct, names []string, path string) (out []*keyspace.Entry, err error) {
	var all []string
	for _, e := range ks.Entries {
		if e.Construct == of {
			all = append(all, e.Name)
			if len(names) == 0 || slices.Contains(names, e.Name) {
				out = append(out, e)
			}
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			hint := fmt.Sprintf("it declares %s", strings.Join(all, ", "))
			if near := typo.Nearest(name, all); near != "" {
				hint = "did you mean " + near + "?"
			}
			return nil, usage(hint, "%s declares no %s %q", path, of, name)
		}
	}
	if len(all) == 0 {
		return nil, usage(fmt.Sprintf("add an entry with type: %s", of), "%s declares no %s", path, of)
	}
	return out, nil
}

// maxInstances bounds what one listing holds.
const maxInstances = 10_000

// instances finds the locks or queues of an entry that are there: it scans for
// their keys, 500 a round trip, and gives the placeholders of each, without those
// that leave cut out. bounded says that there are more.
func instances(ctx context.Context, c *keywright.Client, e *keyspace.Entry, leave []string) (found []map[string]string, bounded bool, err error) {
	seen := map[string]bool{}
	primaries, err := c.Primaries(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, k := range e.Keys {
		for _, node := range primaries {
			for cursor := uint64(0); ; {
				page, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(k.Pattern.ScanGlob()).Count(500).Type(string(k.Kind)).Build()).AsScanEntry()
				if err != nil {
					return nil, false, &keywright.Error{Class: keywright.Refused, Op: "scan", Server: c.Server(), Err: err, Hint: "the login needs +scan"}
				}
				for _, key := range page.Elements {
					values, ok := placeholders(k.Pattern, key, leave)
					if id := fmt.Sprint(values); ok && !seen[id] {
						seen[id], found = true, append(found, values)
					}
				}
				if len(found) >= maxInstances {
					return found, true, nil
				}
				if cursor = page.Cursor; cursor == 0 {
					break
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b map[string]string) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return found, false, nil
}

// placeholders reads a key by name.
func placeholders(p *pattern.Pattern, key string, leave []string) (map[string]string, bool) {
	captures, ok := p.Match([]byte(key))
	if !ok {
		return nil, false
	}
	values := map[string]string{}
	for i, place := range p.Placeholders() {
		if !slices.Contains(leave, place.Name) {
			values[place.Name] = captures[i]
		}
	}
	return values, true
}

// name builds a key of placeholders.
func name(p *pattern.Pattern, values map[string]string) (string, error) {
	args := make([]string, len(p.Placeholders()))
	for i, place := range p.Placeholders() {
		args[i] = values[place.Name]
	}
	key, err := p.Build(args...)
	return string(key), err
}

// with is values with one more.
func with(values map[string]string, name, value string) map[string]string {
	out := maps.Clone(values)
	out[name] = value
	return out
}

// roleOf is the key of an entry by its role.
func roleOf(e *keyspace.Entry, role string) *pattern.Pattern {
	for _, k := range e.Keys {
		if k.Role == role {
			return k.Pattern
		}
	}
	return nil
}

// declared is what the runtime knows of an entry.
func declared(e *keyspace.Entry) *keywright.Entry {
	t := e.TTL
	policy := map[keyspace.Policy]keywright.Policy{keyspace.TTLAny: keywright.Undecided, keyspace.TTLNone: keywright.Forever, keyspace.TTLExpires: keywright.Expires}[t.Policy]
	return &keywright.Entry{Name: e.Name, Pattern: e.Keys[0].Pattern.String(), Type: string(e.Keys[0].Kind), TTL: keywright.TTL{Policy: policy, Default: t.Default, Min: t.Min, Max: t.Max, Text: t.Text}}
}
