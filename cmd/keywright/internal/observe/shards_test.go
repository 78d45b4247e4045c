package observe

import "testing"

// What INFO does not tell is absent: no memory of 0 bytes, and no server without a limit.
func TestShardOfFiguresThatAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(Shard) *int64{
		"used_memory": func(s Shard) *int64 { return s.Memory }, "maxmemory": func(s Shard) *int64 { return s.MaxMemory },
		"connected_clients":         func(s Shard) *int64 { return s.Clients },
		"instantaneous_ops_per_sec": func(s Shard) *int64 { return s.Commands },
	} {
		if got := of(shardOf("a:1", "role:master\r\n")); got != nil {
			t.Errorf("%s is not told, and is %d", name, *got)
		}
		if got := of(shardOf("a:1", "role:master\r\n"+name+":0\r\n")); got == nil || *got != 0 {
			t.Errorf("%s is told, and is %v", name, got)
		}
	}
	if s := shardOf("a:1", "role:master\r\nredis_version:7.0.0\r\ndb0:keys=3,expires=0\r\ndb2:keys=4\r\n"); s.Keys != 7 ||
		s.Version != "7.0.0" || s.Role != "master" {
		t.Errorf("%+v", s)
	}
}
