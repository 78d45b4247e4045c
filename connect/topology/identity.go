package topology

import "github.com/keywright/keywright/source"

// Identity describes what tells that a server is still the same, with the same data. Two of
// them, before and after, are compared by Differences.
type Identity struct {
	RunID, ReplID  string
	Role           string // "master" or "slave"
	Brand, Version string
	Flushes        int64 // FLUSHALL, FLUSHDB, SWAPDB calls; -1 unknown
	Loads          string
	LinkDown       bool
	Loading        bool
	Expired        int64
	Evicted        int64
	Keys           int64
}

// Identify returns the identity of the server of an INFO, with its section commandstats.
func Identify(i Info) Identity {
	id := Identity{RunID: i["run_id"], Role: i["role"], ReplID: i["master_replid"], Flushes: -1,
		Loading: i["loading"] == "1", Keys: i.Keys()}
	id.Brand, id.Version = i.Brand()
	id.Loads = i["rdb_last_load_keys_loaded"] + "/" + i["rdb_last_load_keys_expired"]
	id.LinkDown = i.Replica() && i["master_link_status"] != "up"
	if i["total_commands_processed"] != "" {
		id.Flushes = 0
		for _, name := range []string{"flushall", "flushdb", "swapdb"} {
			id.Flushes += Info{"calls": i.Fields("cmdstat_" + name)["calls"]}.Int("calls")
		}
	}
	id.Expired, id.Evicted = i.Int("expired_keys"), i.Int("evicted_keys")
	return id
}

// Differences returns the reasons why what was read from a server that was a before and is b
// after may not be everything.
func Differences(address string, a, b Identity) (out source.Reasons) {
	add := func(changed bool, code source.Code) {
		if changed {
			out = append(out, source.Why(code, address, nil))
		}
	}
	same := a.RunID == b.RunID
	add(a.RunID == "" || b.RunID == "", source.Blind)
	add(!same && a.RunID != "" && b.RunID != "", source.Restarted)
	if a.Role != b.Role {
		out = append(out, source.Why(source.RoleChanged, address, "from "+a.Role+" to "+b.Role))
	}
	add(a.ReplID != b.ReplID && a.Role == b.Role, source.HistoryMoved)
	add(same && a.Flushes != b.Flushes, source.Flushed)
	add(same && a.Loads != b.Loads, source.Reloaded)
	add(b.LinkDown, source.LinkLost)
	add(b.Loading, source.Loading)
	return out
}
