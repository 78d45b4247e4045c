package golang_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// placeholders are the types that a placeholder may have.
var placeholders = []string{
	"text", "text max 9", "int", "int 1..5", "int -3..", "float", "bool", "bytes", "uuid", "ulid", "hex", "hex 8", "slug",
	"date", "date YYYYMMDD-HH", "timestamp", "unix_s", "unix_ms", "red|green", "two-words|Red|x", "/(a|b|c)+x?/",
}

// enum is the place of the first enum among them.
const enum = 18

// constructs have %[1]s, %[2]s, %[3]s for the names of three placeholders and %[4]d
// for a number.
var constructs = []string{
	`s%[4]d: {key: "LEADs:{%[1]s}:{%[2]s}:{%[3]s}", type: string, ttl: 1d}`,
	`h%[4]d: {key: "LEADh:{%[1]s}:{%[2]s}:{%[3]s}", type: hash, fields: {%[1]s: text, n: int}, ttl: 1d}`,
	`c%[4]d: {key: "LEADc:{%[1]s}:{%[2]s}:{%[3]s}", type: counter, ttl: 1d}`,
	`k%[4]d: {key: "LEADk:{%[1]s}:{%[2]s}:{%[3]s}", type: lock, ttl: 1m, fence: "LEADkf:{%[3]s}:{%[1]s}:{%[2]s}", waiters: "LEADkw:{%[2]s}:{%[3]s}:{%[1]s}"}`,
	`q%[4]d: {key: "LEADq:{%[1]s}:{%[2]s}:{%[3]s}", type: queue, ttl: none, value: json, job: "LEADqj:{%[3]s}:{%[2]s}:{%[1]s}:{job}"}`,
	`a%[4]d: {key: "LEADa:{%[1]s}:{%[2]s}:{%[3]s}", type: cache, value: int, ttl: 1h, fill: "LEADaf:{%[2]s}:{%[1]s}:{%[3]s}"}`,
	`l%[4]d: {key: "LEADl:{%[1]s}:{%[2]s}:{%[3]s}", type: ratelimit, rate: 5 per 1m, ttl: 5m}`,
	`r%[4]d: {key: "LEADr:{%[1]s}:{%[2]s}:{%[3]s}", type: ranking, ttl: 7d, cached: 1m, window: "LEADrw:{%[1]s}:{%[2]s}:{%[3]s}:{weights}:{end}"}`,
	`e%[4]d: {key: "LEADe:{%[1]s}:{%[2]s}:{%[3]s}", type: entity, ttl: 1h, fields: {kind: red|green, at: unix_ms}, index: {kind: "LEADek:{kind}", at: "LEADea"}}`,
	`f%[4]d: {key: "LEADf:{%[1]s}:{%[2]s}:{%[3]s}", type: entity, ttl: 1h, fields: {kind: red|green, at: unix_ms}, index: {kind: "LEADfk:{%[1]s}:{kind}", at: "LEADfa:{%[1]s}"}}`,
	`g%[4]d: {key: "LEADg:{%[2]s}:{%[1]s}:{%[3]s}", type: entity, ttl: none, fields: {%[3]s: %[3]s, at: unix_ms}, index: {%[3]s+at: "LEADgk:{%[2]s}:{%[1]s}:{%[3]s}"}}`,
	`d%[4]d: {key: "{%[1]s}:LEADd:{%[2]s}:x", type: entity, ttl: 1h, fields: {at: unix_ms, why: text}, index: {at: "{%[1]s}:LEADda"}, emits: {create: dm%[4]d, expire: dn%[4]d}}`,
}

var channels = []string{
	`dm%[4]d: {channel: "{%[1]s}:LEADdm:{%[2]s}", message: {%[2]s: %[2]s, why: text optional}}`,
	`dn%[4]d: {channel: "{%[1]s}:LEADdn", durable: {maxlen: 10}, message: {%[1]s: %[1]s, %[2]s: text}}`,
	`t%[4]d: {channel: "LEADt:{%[1]s}:{%[2]s}", message: {n: int}}`,
	`u%[4]d: {channel: "LEADu:{%[1]s}:{%[2]s}", durable: {age: 7d, groups: [mail]}, message: {n: int}}`,
	`w%[4]d: {channel: "LEADw:{%[1]s}", message: {n: int}, reply: {m: float}, reply_channel: "LEADwr:{who}:{%[1]s}"}`,
}

// placed is a declaration with each construct twice: with a type of the given
// number in the first place of each, and others in the places after it.
func placed(seed int) string {
	r := rand.New(rand.NewPCG(uint64(seed), 15))
	n := len(placeholders)
	var vars, keys, chans strings.Builder
	for i, typ := range placeholders {
		fmt.Fprintf(&vars, "p%d: %q, ", i, typ)
	}
	for group, list := range [][]string{constructs, channels} {
		out := []*strings.Builder{&keys, &chans}[group]
		for at, construct := range list {
			for copied := range 2 {
				others := r.Perm(n - 1) // of those that are not the first
				first, id := (seed+enum)%n, fmt.Sprintf("x%dx%dx", group*100+at, copied)
				text := fmt.Sprintf(construct, fmt.Sprint("p", first), fmt.Sprint("p", (first+1+others[0])%n), fmt.Sprint("p", (first+1+others[1])%n), copied)
				if copied == 1 { // a placeholder with nothing before it
					text = strings.ReplaceAll(text, `"LEAD`, `"k:`+id)
				}
				// A literal of its own keeps the patterns apart.
				fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(text, "LEAD", id))
			}
		}
	}
	return "keywright: 1\npackage: placed\nowner: o\nvars: {" + strings.TrimSuffix(vars.String(), ", ") + "}\nkeys:\n" + keys.String() + "channels:\n" + chans.String()
}

// TestEveryPlaceholderInEveryPlaceCompiles: whatever the type of a placeholder and
// wherever it is in a construct, the code compiles. KEYWRIGHT_DECLARATIONS says how
// many declarations are made.
func TestEveryPlaceholderInEveryPlaceCompiles(t *testing.T) {
	count, err := strconv.Atoi(cmp.Or(os.Getenv("KEYWRIGHT_DECLARATIONS"), "1"))
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string][]byte{}
	for seed := range count {
		packages[fmt.Sprint("placed", seed)] = generate(t, declare(t, placed(seed)))
		if len(packages) == 5 || seed == count-1 {
			compile(t, packages)
			clear(packages)
		}
	}
}
