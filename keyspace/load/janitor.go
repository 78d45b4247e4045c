package load

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/schedule"
	yaml "go.yaml.in/yaml/v4"
)

// works say what each work takes, beside a schedule.
var works = map[keyspace.Work][]string{keyspace.WorkAudit: nil, keyspace.WorkSweep: {"entry"}, keyspace.WorkClean: nil,
	keyspace.WorkTTL:    {"entry"},
	keyspace.WorkBackup: {"keep"}}

// Bounds of the janitor.
const (
	maxJobs    = 100
	maxBackups = 1000
)

// sectionJanitor reads the jobs of all files, when all entries are known.
func (l *loader) sectionJanitor() {
	for _, d := range l.Docs {
		p, ok := d.Props["janitor"]
		if !ok {
			continue
		}
		for _, v := range d.Mapping(p.Value, "janitor") {
			if len(l.KS.Janitor) >= maxJobs {
				d.Report("KW314", d.At(v.Key), "", "the janitor has at most %d jobs", maxJobs)
				return
			}
			if d.Name(v, "a job", false) {
				l.Take(d, "job", v)
			}
			if j := l.job(d, v); j != nil {
				l.KS.Janitor = append(l.KS.Janitor, j)
			}
		}
	}
}

// job reads one job; nil: something of it is wrong.
func (l *loader) job(d *scope.Document, v node.Property) *keyspace.Job {
	before, what := len(l.Findings), "the job "+v.Name
	props := d.Known(v.Value, what, scope.Properties["janitor"])
	if v.Value.Kind != yaml.MappingNode {
		return nil
	}
	j := &keyspace.Job{Name: v.Name, Doc: d.Doc(props), Pos: d.At(v.Key), Places: map[string]keyspace.Pos{}}
	for name, p := range props {
		j.Places[name] = d.At(p.Value)
	}
	if p, there := props["do"]; there {
		j.Do = keyspace.Work(d.Choice(p.Value, "do", workNames()))
	} else {
		d.Report("KW006", j.Pos, "add do: "+strings.Join(workNames(), ", or do: "), "%s does not say what it does", what)
	}
	takes, known := works[j.Do]
	for _, name := range []string{"entry", "keep"} {
		if _, there := props[name]; there && known && !slices.Contains(takes, name) {
			d.Report("KW314", d.At(props[name].Key), "remove it", "%s: %s takes no %s", what, j.Do, name)
		}
	}
	jobSchedule(d, j, props)
	if p, there := props["entry"]; there {
		l.jobEntry(d, j, p.Value)
	}
	switch _, there := props["keep"]; {
	case there:
		if n := d.Number(props, "keep", 1); n > maxBackups {
			d.Report("KW314", j.Places["keep"], "", "a backup keeps at most %d", maxBackups)
		} else {
			j.Keep = int(n)
		}
	case j.Do == keyspace.WorkBackup:
		d.Report("KW006", j.Pos, "add keep: 7", "%s does not say how many backups it keeps", what)
	}
	if len(l.Findings) > before {
		return nil
	}
	return j
}

func workNames() []string {
	return []string{string(keyspace.WorkAudit), string(keyspace.WorkSweep), string(keyspace.WorkClean),
		string(keyspace.WorkTTL), string(keyspace.WorkBackup)}
}

// jobSchedule reads `every: 1h`, or `cron: "30 3 * * *"` with its `zone`.
func jobSchedule(d *scope.Document, j *keyspace.Job, props map[string]node.Property) {
	every, hasEvery := props["every"]
	cron, hasCron := props["cron"]
	zone, hasZone := props["zone"]
	if hasEvery == hasCron {
		d.Report("KW006", j.Pos, `add every: 1h or cron: "30 3 * * *"`, "the job %s says either every or cron", j.Name)
		return
	}
	var err error
	if hasEvery {
		if hasZone {
			d.Report("KW314", d.At(zone.Key), "remove it, or write cron",
				"the job %s: an interval is the same in each time zone", j.Name)
		}
		if each := d.Duration(props, "every"); each > 0 {
			if j.When, err = schedule.Interval(each); err != nil {
				d.Report("KW314", d.At(every.Value), "as in every: 1h", "every: %v", err)
			}
		}
		return
	}
	name := ""
	if hasZone {
		text, ok := d.Text(zone.Value, "zone")
		if !ok {
			return
		}
		if name = text; name == "" || !schedule.IsZone(name) {
			d.Report("KW314", d.At(zone.Value), "as in Europe/Berlin; without it the times are in UTC",
				"zone: %q is no name of a time zone", name)
			return
		}
	}
	if text, ok := d.Text(cron.Value, "cron"); ok {
		if j.When, err = schedule.Cron(text, name); err != nil {
			d.Report("KW314", d.At(cron.Value), `as in cron: "30 3 * * mon-fri"`, "cron: %v", err)
		}
	}
}

func (l *loader) jobEntry(d *scope.Document, j *keyspace.Job, n *yaml.Node) {
	if j.Entry = l.EntryNamed(d, n, "entry"); j.Entry == nil {
		return
	}
	if j.Do == keyspace.WorkSweep && j.Entry.Construct != keyspace.Entity {
		d.Report("KW314", d.At(n), "name an entity", "%s is a %s; what is swept are the indexes of an entity", j.Entry.Name,
			j.Entry.Type)
	}
}
