package conformance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/gen/typescript"
	"github.com/keywright/keywright/keyspace/load"
)

const dated = `keywright: 1
package: datedkeys
owner: a
keys:
  day: {key: "d:{day}", type: string, ttl: 1d}
  hour: {key: "h:{hour}", type: string, ttl: 1d}
  at: {key: "t:{at}", type: string, ttl: 1d}
  sec: {key: "s:{sec}", type: string, ttl: 1d}
  ms: {key: "m:{ms}", type: string, ttl: 1d}
vars: {day: date, hour: date YYYYMMDD-HH, at: "timestamp", sec: unix_s, ms: unix_ms}
`

// The moments are at the ends of a day, a year and what four digits can say.
const datedProgram = `import * as k from "./js/datedkeys.js";
const tell = (name, build) => { try { console.log(name, build()); } catch (error) { console.log(name, error.name, error.message); } };
for (const text of ["2026-11-20T00:00:00Z", "2026-11-20T23:59:59.999Z", "2024-02-29T12:00:00+09:00", "1970-01-01T00:00:00Z"]) {
  const now = new Date(text);
  tell("day", () => k.day.key({ day: now }));
  tell("hour", () => k.hour.key({ hour: now }));
  tell("sec", () => k.sec.key({ sec: now }));
  tell("ms", () => k.ms.key({ ms: now }));
}
tell("at", () => k.at.key({ at: new Date("2026-11-20T00:00:00.5Z") }));
tell("text", () => k.day.key({ day: "2026-11-20" }));
tell("parsed", () => JSON.stringify(k.day.parse("d:2026-11-20")));
tell("number", () => k.ms.key({ ms: 12 }));
tell("none", () => k.day.key({ day: new Date(NaN) }));
tell("far", () => k.day.key({ day: new Date(Date.UTC(10000, 0, 1)) }));
tell("early", () => k.ms.key({ ms: new Date(-1) }));
tell("wrong", () => k.day.key({ day: 5 }));
`

const datedSays = `day d:2026-11-20
hour h:20261120-00
sec s:1795132800
ms m:1795132800000
day d:2026-11-20
hour h:20261120-23
sec s:1795219199
ms m:1795219199999
day d:2024-02-29
hour h:20240229-03
sec s:1709175600
ms m:1709175600000
day d:1970-01-01
hour h:19700101-00
sec s:0
ms m:0
at t:2026-11-20T00:00:00.5Z
text d:2026-11-20
parsed {"day":"2026-11-20"}
number m:12
`

// TestDatesInKeys: in TypeScript a moment in a key may be given as a Date, in UTC; one that
// its form cannot say is refused.
func TestDatesInKeys(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k.yaml"), []byte(dated), 0o600); err != nil {
		t.Fatal(err)
	}
	ks, findings := load.File(os.DirFS(dir), "k.yaml")
	if len(findings) > 0 {
		t.Fatal(findings[0].Message)
	}
	written(t, dir, ks, typescript.Generate)
	compiled(t, dir)
	program := filepath.Join(dir, "run.mjs")
	if err := os.WriteFile(program, []byte(datedProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	said := run(t, "node", program)
	refused, ok := strings.CutPrefix(said, datedSays)
	if !ok {
		t.Errorf("it says\n%s\nand not\n%s", said, datedSays)
	}
	for i, line := range strings.Split(strings.TrimSpace(refused), "\n") {
		if want := []string{"none KeyError", "far KeyError", "early KeyError", "wrong KeyError"}; i >= len(want) ||
			!strings.HasPrefix(line, want[i]) {
			t.Errorf("it says %s", line)
		}
	}
}
