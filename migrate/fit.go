package migrate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Unfit is what the server lacks to be the only place of the records: each is a reason not
// to go live. A server that does not answer is one.
func (m *Migration) Unfit(ctx context.Context) (out []string) {
	raw := m.config.Client.Raw()
	text, err := raw.Do(ctx, raw.B().Info().Build()).ToString()
	if err != nil {
		return []string{"INFO is not answered: " + m.wrong("look at the server", "", err).Error()}
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	for _, rule := range fitness {
		if lack := rule(info); lack != "" {
			out = append(out, lack)
		}
	}
	if info["aof_enabled"] != "1" {
		save, err := raw.Do(ctx, raw.B().ConfigGet().Parameter("save").Build()).AsStrMap()
		switch {
		case err != nil:
			out = append(out, "appendonly is off, and whether it saves snapshots is not known (CONFIG GET is refused)")
		case save["save"] == "":
			out = append(out, "it writes nothing to its disk: set appendonly yes")
		}
	}
	if a, err := m.server.ticket("", 0, 0).Do(ctx); err != nil {
		out = append(out, "the login may not run the scripts of a migration: "+m.wrong("try a script", "", err).Error())
	} else {
		_ = a // no part has that name: nothing was changed
	}
	return out
}

// fitness has a rule for each fact of INFO.
var fitness = []func(info map[string]string) string{
	func(info map[string]string) string {
		policy := info["maxmemory_policy"]
		if policy == "noeviction" || policy == "" {
			return ""
		}
		return "maxmemory-policy " + policy + " throws records away when the memory is full: set noeviction"
	},
	func(info map[string]string) string {
		most, used := integer(info["maxmemory"]), integer(info["used_memory"])
		if most == 0 || used < most/10*8 {
			return ""
		}
		return fmt.Sprintf("%d %% of maxmemory is used: records grow in it", used*100/max(most, 1))
	},
	func(info map[string]string) string {
		if info["role"] == "master" || info["role"] == "" {
			return ""
		}
		return "it is a replica"
	},
	func(info map[string]string) string {
		for i := range integer(info["connected_slaves"]) {
			if state := info["slave"+strconv.FormatInt(i, 10)]; !strings.Contains(state, "state=online") {
				return "a replica is not online"
			}
		}
		return ""
	},
	func(info map[string]string) string {
		if info["aof_last_write_status"] == "err" || info["rdb_last_bgsave_status"] == "err" {
			return "its last write to the disk has failed"
		}
		return ""
	},
}

func integer(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
