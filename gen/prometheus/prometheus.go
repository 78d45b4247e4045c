// Package prometheus generates recording and alert rules from a keyspace, for the metrics
// of `keywright serve`: what is declared is what they compare with. A queue's wait is held
// against its lease, a stream's lag against its length, memory against the pressure levels.
//
// API: may change until 1.0.
package prometheus

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
)

// Name is the file that is generated.
const Name = "keyspace.rules.yaml"

// defaultLease is the lease of a queue whose declaration has none.
const defaultLease = 15 * time.Second

// Lease is for how long a job of a queue may run: when the first job has waited for longer, the
// queue is late.
func Lease(e *keyspace.Entry) time.Duration {
	return cmp.Or(e.Lease, defaultLease)
}

// MostLag is how many entries of a stream with a length a group may not have read: when there are more, it will lose
// some.
func MostLag(e *keyspace.Entry) int64 { return max(e.MaxLen*4/5, 1) }

// Levels are the parts of the memory, in percent, from which on alerts are given: those of the declared pressure, from
// the lowest; 90 where none is.
func Levels(ks *keyspace.Keyspace) (levels []int) {
	for _, p := range ks.Pressure {
		levels = append(levels, p.At)
	}
	if len(levels) == 0 {
		return []int{90}
	}
	slices.Sort(levels)
	return slices.Compact(levels)
}

// record represents a recording rule.
type record struct{ name, expr string }

// alert represents an alert rule. Its annotations are templates of Prometheus.
type alert struct {
	name, expr    string
	wait          time.Duration // that it must hold
	severity      string
	owner         string
	summary, help string
	entry         string // that it is about: two rules of one owner are distinguished by it
}

// Generate writes the rules.
func Generate(ks *keyspace.Keyspace) ([]gen.File, error) {
	alerts := slices.Concat(audits(ks), queues(ks), streams(ks), entities(ks), memory(ks), jobs(ks))
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n# Rules for Prometheus, for the metrics of `keywright serve`, from the keyspace %s.\n"+
		"# keywright gen prometheus writes this file.\ngroups:\n", gen.Marker, comment(ks.Package))
	fmt.Fprintf(&b, "  - name: %s\n    rules:\n", quote("keywright-"+ks.Package+"-records"))
	for _, r := range records(ks) {
		fmt.Fprintf(&b, "      - record: %s\n        expr: %s\n", r.name, quote(r.expr))
	}
	fmt.Fprintf(&b, "  - name: %s\n    rules:\n", quote("keywright-"+ks.Package+"-alerts"))
	for _, a := range alerts {
		a.write(&b, ks.Package)
	}
	return []gen.File{{Name: Name, Text: []byte(b.String())}}, nil
}

func (a *alert) write(b *strings.Builder, pkg string) {
	fmt.Fprintf(b, "      - alert: %s\n        expr: %s\n        for: %s\n        labels:\n          severity: %s\n"+
		"          keyspace: %s\n", a.name, quote(a.expr), duration(a.wait), a.severity, quote(literal(pkg)))
	if a.owner != "" {
		fmt.Fprintf(b, "          owner: %s\n", quote(literal(a.owner)))
	}
	if a.entry != "" {
		fmt.Fprintf(b, "          entry: %s\n", quote(literal(a.entry)))
	}
	fmt.Fprintf(b, "        annotations:\n          summary: %s\n          description: %s\n", quote(a.summary),
		quote(a.help))
}

// quote returns a text as YAML and PromQL write it: JSON's strings are both's.
func quote(s string) string {
	text, _ := json.Marshal(s) // a string has a form in JSON
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text))
}

// literal returns a text in which Prometheus sees no template.
func literal(s string) string { return strings.ReplaceAll(s, "{{", `{{"{{"}}`) }

func comment(s string) string { return strconv.Quote(s) }

// duration returns a time as Prometheus writes it.
func duration(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) + "s" }

// seconds returns a time as a number.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// one lists the labels of a server that is watched: the figures of two are never put together.
const one = "job, instance, keyspace, target"

// of selects the series of a keyspace, and of these those with some labels: names and values by
// turns.
func of(ks *keyspace.Keyspace, labels ...string) string {
	text := "{keyspace=" + quote(ks.Package)
	for i := 0; i+1 < len(labels); i += 2 {
		text += "," + labels[i] + "=" + quote(labels[i+1])
	}
	return text + "}"
}

// records returns what the alerts and dashboards ask for again.
func records(ks *keyspace.Keyspace) []record {
	in := of(ks)
	return []record{
		{"target:keywright_keys:sum", "sum by (" + one + ") (keywright_keys" + in + ")"},
		{"target:keywright_bytes:sum", "sum by (" + one + ") (keywright_bytes" + in + ")"},
		{"target_entry_code:keywright_violations:sum",
			"sum by (" + one + ", entry, code) (keywright_violations" + in + ")"},
		{"target:keywright_violations:sum", "sum by (" + one + ") (keywright_violations" + in + ")"},
		{"target:keywright_audit_age:seconds", "time() - keywright_audit_timestamp_seconds" + in},
		{"target_entry:keywright_queue_backlog:sum",
			"sum by (" + one + ", entry) (keywright_queue_jobs" + of(ks, "state", "waiting") + ")"},
		{"target_address:keywright_server_memory:ratio",
			"keywright_server_memory_bytes" + in + " / (keywright_server_max_memory_bytes" + in + " > 0)"},
	}
}

// audits returns alerts about the audits themselves, and about what they found.
func audits(ks *keyspace.Keyspace) []alert {
	in := of(ks)
	violations := "target_entry_code:keywright_violations:sum" + in
	return []alert{
		{"KeywrightServerAway", "keywright_up" + in + " == 0", 5 * time.Minute, "critical", "",
			"{{ $labels.target }} does not answer", "keywright serve could not read the server for five minutes.", ""},
		{"KeywrightReadingOld",
			"keywright_reading_age_seconds" + in + " > 2 * keywright_reading_every_seconds" + in, time.Minute, "warning", "",
			"{{ $labels.reading }} of {{ $labels.target }}: read {{ $value | humanizeDuration }} ago",
			"It is not read as often as it should be: alerts about it are silent. Its page in keywright serve says why.", ""},
		{"KeywrightAuditOld", "target:keywright_audit_age:seconds" + in + " > 3600", 5 * time.Minute, "warning", "",
			"the audit of {{ $labels.target }} is old",
			"There was no audit for more than an hour: all figures by entry are as old.", ""},
		{"KeywrightAuditMissing",
			"keywright_up" + in + " unless on (" + one + ") keywright_audit_timestamp_seconds" + in, time.Hour,
			"warning", "", "there is no audit of {{ $labels.target }}",
			"keywright serve has watched it for an hour and has no figures. Its overview says why.", ""},
		{"KeywrightAuditNotWhole", "keywright_audit_whole" + in + " == 0", time.Hour, "warning", "",
			"the audit of {{ $labels.target }} is not of all keys",
			"The figures by entry are too low. The overview of keywright serve says why.", ""},
		{"KeywrightViolationsGrew",
			"(" + violations + " > " + violations + " offset 1d or (" + violations + " unless " + violations +
				" offset 1d)) and on (" + one + ") target:keywright_keys:sum" + in + " offset 1d",
			15 * time.Minute, "warning", "",
			"{{ $labels.entry }} of {{ $labels.target }} has more {{ $labels.code }} than a day ago: {{ $value }} keys",
			"keywright explain {{ $labels.code }} says what the rule is for; " +
				"keywright audit --keys-of {{ $labels.code }} lists the keys.", ""},
	}
}

// queues returns alerts about each declared queue. One that is paused waits because it was asked to.
func queues(ks *keyspace.Keyspace) (out []alert) {
	for _, e := range ks.Entries {
		if e.Construct != keyspace.Queue {
			continue
		}
		lease := Lease(e)
		in, name := of(ks, "entry", e.Name), literal(e.Name)
		jobs := func(state string) string { return "keywright_queue_jobs" + of(ks, "entry", e.Name, "state", state) }
		works := " unless keywright_queue_paused" + in + " == 1"
		where := " of " + name + " ({{ $labels.target }}, {{ $labels.queue }})"
		out = append(out,
			alert{"KeywrightQueueLate", "keywright_queue_oldest_seconds" + in + " > " + seconds(lease) + works,
				time.Minute, "warning", e.Owner,
				"the first job" + where + " has waited for {{ $value | humanizeDuration }}",
				"That is longer than the lease of a job, " + keyspace.FormatDuration(lease) +
					": there are too few workers, or they are stuck.", e.Name},
			alert{"KeywrightQueueNoWorkers",
				"keywright_queue_workers" + in + " == 0 and ignoring (state) " + jobs("waiting") + " > 0" + works,
				max(lease, time.Minute), "critical", e.Owner, "jobs" + where + " wait, and no worker is there",
				"Workers that are there are listed by keywright queues.", e.Name},
			alert{"KeywrightQueueDead", "increase(keywright_queue_deaths_total" + in + "[1h]) > 0", 0, "warning", e.Owner,
				"jobs" + where + " have died within an hour",
				"keywright queues lists why; keywright queues retry brings them back.", e.Name})
	}
	return out
}

// streams returns alerts about groups that will lose entries: those of streams with a length.
func streams(ks *keyspace.Keyspace) (out []alert) {
	for _, e := range ks.Entries {
		if e.MaxLen <= 0 {
			continue
		}
		lag := "keywright_stream_lag" + of(ks, "entry", e.Name)
		out = append(out, alert{"KeywrightStreamLag", lag + " > " + strconv.FormatInt(MostLag(e), 10),
			time.Minute, "critical", e.Owner, "the group {{ $labels.group }} of " + literal(e.Name) +
				" ({{ $labels.target }}, {{ $labels.key }}) is {{ $value }} entries late",
			fmt.Sprintf("The stream keeps about %d entries (maxlen): the group will lose some unread.", e.MaxLen), e.Name})
	}
	return out
}

// entities returns alerts about items that have expired and are not swept.
func entities(ks *keyspace.Keyspace) (out []alert) {
	for _, e := range ks.Entries {
		if e.Construct == keyspace.Entity && e.TTL.Policy == keyspace.TTLExpires {
			out = append(out, alert{"KeywrightSweepLate",
				"keywright_entity_sweep_late_seconds" + of(ks, "entry", e.Name) + " > 300", 5 * time.Minute, "warning",
				e.Owner, "items of " + literal(e.Name) + " ({{ $labels.target }}) are not swept",
				"Their indexes name items that have expired: is a sweeper running?", e.Name})
		}
	}
	return out
}

// jobs returns the alert about jobs of the janitor, where there are any.
func jobs(ks *keyspace.Keyspace) []alert {
	if len(ks.Janitor) == 0 {
		return nil
	}
	return []alert{{"KeywrightJanitorFailed", "keywright_janitor_failing" + of(ks) + " == 1", 0, "warning", "",
		"the job {{ $labels.job }} of the janitor has failed on {{ $labels.target }}",
		"The page of the janitor and the log of keywright serve say why. The alert ends with the next good run.", ""}}
}

// memory returns alerts about the levels of memory that are declared; without any, about 90 %.
func memory(ks *keyspace.Keyspace) (out []alert) {
	levels := Levels(ks)
	help := func(int) string { return "Nothing is declared for when memory runs short (pressure)." }
	if len(ks.Pressure) > 0 {
		help = func(at int) string {
			var rules []string
			for _, p := range ks.Pressure {
				if p.At == at {
					rules = append(rules, p.String())
				}
			}
			return literal("Declared for that is: " + strings.Join(rules, "; ") + ". It is not enough, or no watcher runs.")
		}
	}
	for i, at := range levels {
		severity := "warning"
		if i == len(levels)-1 {
			severity = "critical"
		}
		out = append(out, alert{"KeywrightMemory", "target_address:keywright_server_memory:ratio" + of(ks) + " > " +
			strconv.FormatFloat(float64(at)/100, 'f', -1, 64), 5 * time.Minute, severity, "", fmt.Sprintf(
			"{{ $labels.address }} of {{ $labels.target }} has used more than %d %% of its memory for five minutes", at),
			help(at), ""})
	}
	return out
}
