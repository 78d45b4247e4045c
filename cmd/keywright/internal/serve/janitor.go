package serve

import (
	"reflect"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
)

// JobList holds the jobs of the janitor, and what became of them.
type JobList struct {
	Items []JobRow `json:"items"`
	Page
}

// JobRow represents a job of the janitor, and what became of it.
type JobRow struct {
	Target string `json:"target"`
	Name   string `json:"name"`
	Doc    string `json:"doc,omitempty"`
	Do     string `json:"do" enum:"audit,sweep,clean,ttl,backup"`
	When   string `json:"when"` // what it does and when, in words
	State  string `json:"state" enum:"idle,running,waiting,failed"`
	Next   Stamp  `json:"next,omitempty"`  // when it is due
	Since  Stamp  `json:"since,omitempty"` // with running
	// with waiting: why it is not done although it is due
	Reason   string `json:"reason,omitempty" enum:"away,memory,load,elsewhere,busy"`
	Why      string `json:"why,omitempty"`       // the same in words
	Ended    Stamp  `json:"last_run,omitempty"`  // when the latest run ended; absent: there was none
	Good     Stamp  `json:"last_good,omitempty"` // when the latest run ended that did what it should
	Did      string `json:"did,omitempty"`       // by the latest run, or why that failed
	Other    bool   `json:"elsewhere"`           // another program did the latest run
	Runs     int64  `json:"runs"`
	Failed   int64  `json:"failed"`   // of the runs
	Failures int64  `json:"failures"` // since the latest good run
}

var janitorRoutes = []route{
	{method: "GET", path: "/api/v1/janitor", what: "The jobs of the janitor, of all targets", params: listParams,
		answer: reflect.TypeFor[JobList](), handle: allJobs},
	{method: "GET", path: "/api/v1/t/{target}/janitor", what: "The jobs of the janitor", params: listParams,
		answer: reflect.TypeFor[JobList](), handle: jobs},
}

func rowOfJob(target string, j observe.Job, now time.Time) JobRow {
	row := JobRow{target, j.Name, j.Doc, j.Do, j.When, "idle", stampOf(j.Next), stampOf(j.Running), j.Waits, j.Why,
		stampOf(j.Ended), stampOf(j.Good), j.Did, j.Other, j.Runs, j.Failed, j.Failures}
	switch {
	case !j.Running.IsZero():
		row.State = "running"
	case j.Waits != "":
		row.State = "waiting"
	case j.Failures > 0:
		row.State = "failed"
	case !j.Next.IsZero() && j.Next.Before(now):
		row.State, row.Reason, row.Why = "waiting", "busy", "it is due: the jobs of one server are done one after the other"
	}
	return row
}

func jobs(q *request) (any, error) { return q.jobs(q.target) }

func allJobs(q *request) (any, error) { return q.jobs(q.server.all()...) }

func (q *request) jobs(of ...*observe.Target) (any, error) {
	rows := []JobRow{}
	for _, t := range of {
		st := t.State()
		for _, j := range st.Jobs {
			rows = append(rows, rowOfJob(t.ID, j, q.server.Now()))
		}
	}
	var out JobList
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}

// measureJobs adds the series of the janitor.
func measureJobs(x *exposition, id string, st *observe.State) {
	for _, j := range st.Jobs {
		labels := []string{"target", id, "job", j.Name}
		x.add("keywright_janitor_running", "Whether a job of the janitor runs.", truth(!j.Running.IsZero()), labels...)
		x.add("keywright_janitor_waiting", "Whether a job of the janitor is due and waits.", truth(j.Waits != ""), labels...)
		x.add("keywright_janitor_failing", "Whether the latest run of a job of the janitor failed.", truth(j.Failures > 0),
			labels...)
		x.count("keywright_janitor_runs_total", "Runs of a job of the janitor.", float64(j.Runs), labels...)
		x.count("keywright_janitor_failures_total", "Runs of a job of the janitor that failed.", float64(j.Failed), labels...)
		if !j.Ended.IsZero() {
			x.add("keywright_janitor_last_run_timestamp_seconds", "When the latest run of a job of the janitor ended.",
				float64(j.Ended.UnixMilli())/1000, labels...)
		}
		if !j.Good.IsZero() {
			x.add("keywright_janitor_last_success_timestamp_seconds", "When the latest run of a job of the janitor ended well.",
				float64(j.Good.UnixMilli())/1000, labels...)
		}
	}
}
