package load

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
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
	for _, d := range l.docs {
		p, ok := d.props["janitor"]
		if !ok {
			continue
		}
		for _, v := range d.mapping(p.value, "janitor") {
			if len(l.ks.Janitor) >= maxJobs {
				d.report("KW314", d.at(v.key), "", "the janitor has at most %d jobs", maxJobs)
				return
			}
			if d.name(v, "a job", false) {
				l.take(d, "job", v)
			}
			if j := l.job(d, v); j != nil {
				l.ks.Janitor = append(l.ks.Janitor, j)
			}
		}
	}
}

// job reads one job; nil: something of it is wrong.
func (l *loader) job(d *document, v property) *keyspace.Job {
	before, what := len(l.findings), "the job "+v.name
	props := d.known(v.value, what, childProperties["janitor"])
	if v.value.Kind != yaml.MappingNode {
		return nil
	}
	j := &keyspace.Job{Name: v.name, Doc: d.doc(props), Pos: d.at(v.key), Places: map[string]keyspace.Pos{}}
	for name, p := range props {
		j.Places[name] = d.at(p.value)
	}
	if p, there := props["do"]; there {
		j.Do = keyspace.Work(d.choice(p.value, "do", workNames()))
	} else {
		d.report("KW006", j.Pos, "add do: "+strings.Join(workNames(), ", or do: "), "%s does not say what it does", what)
	}
	takes, known := works[j.Do]
	for _, name := range []string{"entry", "keep"} {
		if _, there := props[name]; there && known && !slices.Contains(takes, name) {
			d.report("KW314", d.at(props[name].key), "remove it", "%s: %s takes no %s", what, j.Do, name)
		}
	}
	jobSchedule(d, j, props)
	if p, there := props["entry"]; there {
		l.jobEntry(d, j, p.value)
	}
	switch _, there := props["keep"]; {
	case there:
		if n := d.number(props, "keep", 1); n > maxBackups {
			d.report("KW314", j.Places["keep"], "", "a backup keeps at most %d", maxBackups)
		} else {
			j.Keep = int(n)
		}
	case j.Do == keyspace.WorkBackup:
		d.report("KW006", j.Pos, "add keep: 7", "%s does not say how many backups it keeps", what)
	}
	if len(l.findings) > before {
		return nil
	}
	return j
}

func workNames() []string {
	return []string{string(keyspace.WorkAudit), string(keyspace.WorkSweep), string(keyspace.WorkClean),
		string(keyspace.WorkTTL), string(keyspace.WorkBackup)}
}

// jobSchedule reads `every: 1h`, or `cron: "30 3 * * *"` with its `zone`.
func jobSchedule(d *document, j *keyspace.Job, props map[string]property) {
	every, hasEvery := props["every"]
	cron, hasCron := props["cron"]
	zone, hasZone := props["zone"]
	if hasEvery == hasCron {
		d.report("KW006", j.Pos, `add every: 1h or cron: "30 3 * * *"`, "the job %s says either every or cron", j.Name)
		return
	}
	var err error
	if hasEvery {
		if hasZone {
			d.report("KW314", d.at(zone.key), "remove it, or write cron",
				"the job %s: an interval is the same in each time zone", j.Name)
		}
		if each := d.duration(props, "every"); each > 0 {
			if j.When, err = schedule.Interval(each); err != nil {
				d.report("KW314", d.at(every.value), "as in every: 1h", "every: %v", err)
			}
		}
		return
	}
	name := ""
	if hasZone {
		text, ok := d.text(zone.value, "zone")
		if !ok {
			return
		}
		if name = text; name == "" || !schedule.IsZone(name) {
			d.report("KW314", d.at(zone.value), "as in Europe/Berlin; without it the times are in UTC",
				"zone: %q is no name of a time zone", name)
			return
		}
	}
	if text, ok := d.text(cron.value, "cron"); ok {
		if j.When, err = schedule.Cron(text, name); err != nil {
			d.report("KW314", d.at(cron.value), `as in cron: "30 3 * * mon-fri"`, "cron: %v", err)
		}
	}
}

func (l *loader) jobEntry(d *document, j *keyspace.Job, n *yaml.Node) {
	if j.Entry = l.entryNamed(d, n, "entry"); j.Entry == nil {
		return
	}
	if j.Do == keyspace.WorkSweep && j.Entry.Construct != keyspace.Entity {
		d.report("KW314", d.at(n), "name an entity", "%s is a %s; what is swept are the indexes of an entity", j.Entry.Name,
			j.Entry.Type)
	}
}
