// Package topology is what servers say of themselves: INFO, the nodes and slots of a
// cluster, ROLE, and whether a server is still the one that it was, with the same data.
// The runtime, the sources and the commands all ask and read it here.
//
// The parsers are pure: a text in, values out, and what is strange in it is left out,
// since replies of servers are input. ask.go sends the questions through a function that
// the caller has; this package knows no connection and no client. It does not decide which server
// to use.
//
// API: may change until 1.0.
package topology

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Info describes what INFO says, by name. A nil Info is one that the user may not read.
type Info map[string]string

// ParseInfo reads the text of INFO.
func ParseInfo(text string) Info {
	out := Info{}
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r"), ":"); ok && !strings.HasPrefix(name, "#") {
			out[name] = value
		}
	}
	return out
}

// Number returns a figure; ok is false if it is not reported.
func (i Info) Number(name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(i[name], 10, 64)
	return n, err == nil
}

// Int returns a figure, 0 if it is not reported.
func (i Info) Int(name string) int64 {
	n, _ := i.Number(name)
	return n
}

// Fields reads a value of the form a=1,b=2.
func (i Info) Fields(name string) map[string]string {
	out := map[string]string{}
	for f := range strings.SplitSeq(i[name], ",") {
		if name, value, ok := strings.Cut(f, "="); ok {
			out[name] = value
		}
	}
	return out
}

// Brand returns "valkey" or "redis", and the version; "" where it is not reported.
func (i Info) Brand() (brand, version string) {
	if v := i["valkey_version"]; v != "" {
		return "valkey", v
	}
	return "redis", i["redis_version"]
}

// Release returns the first two numbers of the version, 0 where they are not reported.
func (i Info) Release() (major, minor int) {
	_, version := i.Brand()
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return 0, 0
	}
	major, _ = strconv.Atoi(parts[0])
	minor, _ = strconv.Atoi(parts[1])
	return major, minor
}

// Older reports whether a version is older than another one, by the numbers that both
// have.
func Older(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range min(len(a), len(b)) {
		x, err1 := strconv.Atoi(a[i])
		y, err2 := strconv.Atoi(b[i])
		if err1 != nil || err2 != nil || x != y {
			return err1 == nil && err2 == nil && x < y
		}
	}
	return false
}

// Clustered reports whether the server is a node of a cluster.
func (i Info) Clustered() bool { return i["cluster_enabled"] == "1" }

// Primary reports whether the server says that it takes writes.
func (i Info) Primary() bool { return i["role"] == "master" }

// Replica reports whether the server says that it follows another one.
func (i Info) Replica() bool { return i["role"] == "slave" }

// Linked reports whether a replica has its primary, and all of its data.
func (i Info) Linked() bool {
	return i["master_link_status"] == "up" && i["master_sync_in_progress"] == "0"
}

// Databases returns the databases that have keys, and how many, expired ones that were not
// touched included.
func (i Info) Databases() map[int]int64 {
	out := map[int]int64{}
	for name := range i {
		db, ok := strings.CutPrefix(name, "db")
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(db, 10, 31)
		if err != nil {
			continue
		}
		if keys, err := strconv.ParseInt(i.Fields(name)["keys"], 10, 64); err == nil {
			out[int(n)] = keys
		}
	}
	return out
}

// Keys returns how many keys all databases have.
func (i Info) Keys() (n int64) {
	for _, keys := range i.Databases() {
		n += keys
	}
	return n
}

// Follower represents a replica as its primary sees it.
type Follower struct {
	Address string
	Online  bool          // it gets every write; else it is loading the data set
	Behind  int64         // bytes of the primary's writes that it has not confirmed
	Silent  time.Duration // since it last confirmed, in whole seconds
}

// mostFollowers bounds how many replicas of one server are read.
const mostFollowers = 1000

// Followers returns the replicas that a primary lists.
func (i Info) Followers() (out []Follower) {
	written := i.Int("master_repl_offset")
	for n := range mostFollowers {
		name := "slave" + strconv.Itoa(n)
		if _, ok := i[name]; !ok {
			break
		}
		of := i.Fields(name)
		got, _ := strconv.ParseInt(of["offset"], 10, 64)
		silent, _ := strconv.ParseInt(of["lag"], 10, 64)
		out = append(out, Follower{join(of["ip"], of["port"]), of["state"] == "online", max(written-got, 0),
			time.Duration(silent) * time.Second})
	}
	return out
}

// Bounds of a replica that may be read in its primary's place: it confirms each second, and what it has not confirmed
// is little.
const (
	mostBehind = 1 << 20 // bytes
	mostSilent = 10 * time.Second
)

// InStep reports whether a replica may be read in its primary's place.
func (f Follower) InStep() bool { return f.Online && f.Behind < mostBehind && f.Silent < mostSilent }

// InStep returns the addresses of the replicas that may be read in their primary's place,
// the one with the least to catch up first.
func (i Info) InStep() []string {
	all := slices.DeleteFunc(i.Followers(), func(f Follower) bool { return !f.InStep() })
	slices.SortStableFunc(all, func(a, b Follower) int { return cmp.Compare(a.Behind, b.Behind) })
	out := make([]string, len(all))
	for n, f := range all {
		out[n] = f.Address
	}
	return out
}
