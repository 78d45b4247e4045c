package scrape

import (
	"maps"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
)

func measureQueues(x *exposition, id string, st observe.State) {
	if st.Queues.Value == nil {
		return
	}
	for _, q := range st.Queues.Value.Queues {
		labels := []string{"target", id, "entry", q.Entry, "queue", instanceText(q.Queue)}
		row := document.RowOfQueue(q)
		for _, part := range []struct {
			state string
			jobs  int64
		}{{"waiting", row.Waiting}, {"running", q.Running}, {"zombie", q.Zombies}, {"delayed", q.Delayed},
			{"dead", q.Dead}} {
			x.add("keywright_queue_jobs", "Jobs of a queue, by state.", float64(part.jobs),
				append(labels, "state", part.state)...)
		}
		x.count("keywright_queue_enqueued_total", "Jobs that were put into a queue, as it counts them.",
			float64(q.Enqueued), labels...)
		x.count("keywright_queue_deaths_total", "Jobs that have died while the queue was watched.",
			float64(st.Queues.Value.Died[q.Title()]), labels...)
		x.add("keywright_queue_oldest_seconds", "For how long the first job has waited.", row.Oldest, labels...)
		x.add("keywright_queue_overdue_jobs",
			"Of a thousand running jobs those that were claimed longer ago than their queue's timeout, or than an hour.",
			float64(q.Overdue), labels...)
		x.add("keywright_queue_oldest_run_seconds", "How long ago the oldest of a thousand running jobs was claimed.", q.Run,
			labels...)
		x.add("keywright_queue_workers", "Workers of a queue.", float64(len(q.Workers)), labels...)
		x.add("keywright_queue_paused", "Whether a queue is paused.", truth(q.Paused), labels...)
	}
}

func measureOthers(x *exposition, id string, st observe.State) {
	if v := st.Locks.Value; v != nil {
		held, waiting := map[string]int64{}, map[string]int64{}
		for _, l := range v.Locks {
			if l.Token != nil {
				held[l.Entry]++
			}
			waiting[l.Entry] += l.Waiting
		}
		for _, e := range slices.Sorted(maps.Keys(waiting)) {
			x.add("keywright_locks_held", "Locks of an entry that are held.", float64(held[e]), "target", id,
				"entry", e)
			x.add("keywright_lock_waiters", "Processes that wait for locks of an entry.", float64(waiting[e]),
				"target", id, "entry", e)
		}
	}
	if v := st.Entities.Value; v != nil {
		for _, e := range v.Entities {
			labels := []string{"target", id, "entry", e.Entry, "of", instanceText(e.Of)}
			x.add("keywright_entity_items", "Items of an entity.", float64(e.Items), labels...)
			x.add("keywright_entity_unswept", "Items that have expired and wait to be swept.", float64(e.Expired),
				labels...)
			x.add("keywright_entity_sweep_late_seconds", "For how long the first of them has waited.", e.Late,
				labels...)
		}
	}
	if v := st.Streams.Value; v != nil {
		for _, one := range v.Streams {
			key := labelOf(one.Key)
			x.add("keywright_stream_length", "Entries of a stream.", float64(one.Length), "target", id, "entry",
				one.Entry, "key", key)
			for _, g := range one.Groups {
				labels := []string{"target", id, "entry", one.Entry, "key", key, "group", labelOf(g.Name)}
				x.add("keywright_stream_pending", "Entries that a group has and has not acknowledged.",
					float64(g.Pending), labels...)
				if g.Lag != nil {
					x.add("keywright_stream_lag", "Entries that a group has not been given yet.",
						float64(*g.Lag), labels...)
				}
			}
		}
	}
	if v := st.Shards.Value; v != nil {
		for _, shard := range *v {
			for _, one := range []struct {
				name, help string
				figure     *int64
			}{{"keywright_server_memory_bytes", "Memory that a server uses.", shard.Memory},
				{"keywright_server_max_memory_bytes", "Memory that a server may use; 0: no limit.", shard.MaxMemory},
				{"keywright_server_clients", "Clients of a server.", shard.Clients}} {
				if one.figure != nil { // it is reported
					x.add(one.name, one.help, float64(*one.figure), "target", id, "address", shard.Address)
				}
			}
		}
	}
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

// measureNow adds how much is wrong, by kind.
func (m *Metrics) measureNow(x *exposition, id string) {
	if m.Alerts == nil {
		return
	}
	alerts, _ := m.Alerts(id)
	by := map[alert.Kind]int{}
	for _, a := range alerts {
		by[a.Kind]++
	}
	for _, k := range alert.Kinds() {
		x.add("keywright_wrong", "Things that are wrong now, by kind.", float64(by[k]), "target", id, "kind", string(k))
	}
}
