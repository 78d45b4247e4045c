package apply_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
)

// taggedPages has caches that get new names, and sets of names: one keeps its name, one gets a
// new one, and numbers hold no names.
const taggedPages = `keywright: 1
keys:
  page: {key: "pg:{id}", was: ["page:{id}"], type: cache, ttl: 1h}
  part: {key: "part:{id}", type: cache, ttl: 1h}
  tag: {key: "tag:{id}", type: zset, member: text, ttl: any}
  topic: {key: "top:{id}", was: ["topic:{id}"], type: zset, member: text, ttl: any}
  best: {key: "best:{id}", type: zset, member: int, ttl: none}
`

// taggedServer is a server with pages 1 to n, of which both sets of names 1 have all.
func taggedServer(t testing.TB, clients restore.Clients, n int) {
	t.Helper()
	applytest.Do(t, clients, 0, "FLUSHALL")
	for i := range n {
		id := strconv.Itoa(i + 1)
		applytest.Do(t, clients, 0, "SET", "page:"+id, "value "+id, "PXAT", "4102444800123")
		for _, set := range []string{"tag:1", "topic:1"} {
			applytest.Do(t, clients, 0, "ZADD", set, "410244480000"+id, "page:"+id)
		}
	}
	applytest.Do(t, clients, 0, "ZADD", "tag:1", "5", "part:1", "6", "page:gone", "7", "\xff\x00 x")
	applytest.Do(t, clients, 0, "ZADD", "tag:2", "5", "part:1")
	applytest.Do(t, clients, 0, "ZADD", "best:1", "5", "page:1")
}

// membersOf returns the members of a set with their scores.
func membersOf(t testing.TB, clients restore.Clients, set string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pair := range applytest.Do(t, clients, 0, "ZRANGE", set, "0", "-1", "WITHSCORES").([]any) {
		out[fmt.Sprint(pair.([]any)[0])] = fmt.Sprintf("%.0f", pair.([]any)[1])
	}
	return out
}

func taggedRule(t testing.TB, o plan.RenameOptions) (*renamed, *plan.Rename) {
	t.Helper()
	ks := keyspaceOf(taggedPages)
	pairs, err := plan.Former(ks)
	must(t, err)
	rule, err := plan.NewRename(ks, pairs, o)
	must(t, err)
	return &renamed{ks, pairs}, rule
}

// reached fails unless each page is in the sets by the name that it has.
func reached(t testing.TB, clients restore.Clients, n int, when string) {
	t.Helper()
	sets := [][]string{{"tag:1"}, {"topic:1", "top:1"}}
	for i := range n {
		for _, name := range []string{"page:" + strconv.Itoa(i+1), "pg:" + strconv.Itoa(i+1)} {
			for _, names := range sets {
				if applytest.Do(t, clients, 0, "EXISTS", name) == int64(1) && !slices.ContainsFunc(names, func(set string) bool {
					return applytest.Do(t, clients, 0, "ZSCORE", set, name) != nil
				}) {
					t.Fatalf("%s: %v do not reach %s", when, names, name)
				}
			}
		}
	}
}

// A set that tags what is renamed has the new names with their scores, whether it keeps its name
// or not, in a slot and over slots. Names of what stays stay, the second run changes nothing, and
// an undo brings the old names back.
func TestRenameTags(t *testing.T) {
	t.Parallel()
	for _, cluster := range []bool{false, true} {
		t.Run(fmt.Sprint("cluster ", cluster), func(t *testing.T) {
			t.Parallel()
			url := ""
			if cluster {
				url = kt.StartCluster(t, kt.Valkey, 2, 0).URL()
			} else {
				url = kt.Start(t, kt.Redis).URL()
			}
			clients := applytest.Open(t, url)
			taggedServer(t, clients, 6)
			applytest.Do(t, clients, 0, "SET", "pg:5", "in the way")
			applytest.Do(t, clients, 0, "ZADD", "tag:1", "9", "pg:1", "99999999999999", "pg:2")
			applytest.Do(t, clients, 0, "SET", "{page:7}:fill", "loads", "PX", "600000")
			applytest.Do(t, clients, 0, "ZADD", "tag:1", "8", "page:7")
			was := membersOf(t, clients, "tag:1")
			r, _ := taggedRule(t, plan.RenameOptions{})
			o, file := plan.RenameOptions{Retag: true}, t.TempDir()+"/undo"
			first := r.run(t, url, o, apply.KeysOptions{Undo: undoFile(t, file)})
			if first.Changed != 5+2 || why(first)[plan.Taken] != 1 || first.Entries["tag"].Changed != 1 ||
				first.Entries["best"] != nil {
				t.Errorf("%+v %v", first.KeyCounts, why(first))
			}
			want := map[string]string{"pg:1": "4102444800001", "pg:2": "99999999999999", "pg:3": was["page:3"],
				"pg:4": was["page:4"], "page:5": was["page:5"], "pg:5": was["page:5"], "pg:6": was["page:6"], "page:7": "8",
				"pg:7": "8", "part:1": "5",
				"pg:gone": "6", "\xff\x00 x": "7"}
			equalMaps(t, "a set that keeps its name", membersOf(t, clients, "tag:1"), want)
			for _, name := range []string{"page:7", "pg:7", "part:1", "\xff\x00 x", "pg:gone"} {
				delete(want, name)
			}
			want["pg:2"] = was["page:2"]
			equalMaps(t, "a set that is renamed", membersOf(t, clients, "top:1"), want)
			equalMaps(t, "numbers", membersOf(t, clients, "best:1"), map[string]string{"page:1": "5"})
			if again := r.run(t, url, o, apply.KeysOptions{}); again.Changed != 0 || again.Keys != 2 {
				t.Errorf("again: %+v", again.KeyCounts)
			}
			if back := r.back(t, url, file); back.Changed != 7 {
				t.Errorf("%+v %v", back.KeyCounts, why(back))
			}
			now := membersOf(t, clients, "tag:1")
			for name, score := range was {
				if strings.HasPrefix(name, "page:") && now[name] != score && name != "page:2" {
					t.Errorf("brought back, %s has the score %s, not %s", name, now[name], score)
				}
			}
			reached(t, clients, 6, "brought back")
		})
	}
}

// A rename that ends at any step leaves each page within reach of its sets, and so does the run
// that goes on. It is as it would be without the end.
func TestRenameTagsEndsAnywhere(t *testing.T) {
	t.Parallel()
	const pages = 3
	url := kt.Start(t, kt.Valkey).URL()
	clients := applytest.Open(t, url)
	r, _ := taggedRule(t, plan.RenameOptions{})
	var whole map[string]string
	for stop := 0; ; stop++ {
		taggedServer(t, clients, pages)
		_, rule := taggedRule(t, plan.RenameOptions{Retag: true})
		steps, ended := 0, errors.New("ended")
		o := apply.KeysOptions{Live: applytest.Live(t, url, 64<<10), StillHeld: func() error {
			if steps++; steps > stop && whole != nil {
				return ended
			}
			return nil
		}}
		_, err := apply.Keys(t.Context(), clients, scanOf(url), rule, o)
		reached(t, clients, pages, fmt.Sprint("ended at step ", stop))
		if err != nil && !errors.Is(err, ended) {
			t.Fatal(err)
		}
		if err != nil {
			r.run(t, url, plan.RenameOptions{Retag: true}, apply.KeysOptions{})
		}
		reached(t, clients, pages, fmt.Sprint("gone on after step ", stop))
		got := membersOf(t, clients, "tag:1")
		maps.Copy(got, membersOf(t, clients, "top:1"))
		if whole == nil {
			whole = got
			stop = -1
			continue
		}
		equalMaps(t, fmt.Sprint("ended at step ", stop), got, whole)
		if err == nil {
			if stop < 6 {
				t.Errorf("it has %d steps only", stop)
			}
			return
		}
	}
}

// A plan counts the sets in which something gets a new name, and what is reported can be added beside
// the old names.
func TestTagsInPlans(t *testing.T) {
	t.Parallel()
	url := kt.Start(t, kt.Redis).URL()
	clients := applytest.Open(t, url)
	taggedServer(t, clients, 3)
	applytest.Do(t, clients, 0, "SET", "tag:3", "not a set")
	planned := func() int64 {
		_, rule := taggedRule(t, plan.RenameOptions{Retag: true})
		c, p := plan.NewCollector(rule), &plan.Plan{}
		_, err := scanOf(url)(t.Context(), func(batch []source.Key) error {
			decisions := c.Decide(batch)
			must(t, apply.Blocked(t.Context(), clients, applytest.Live(t, url, 0), batch, decisions))
			c.Count(batch, decisions)
			return nil
		})
		must(t, err)
		c.Into(p)
		return p.Total.Change
	}
	if n := planned(); n != 3+1+1 {
		t.Errorf("%d keys are planned", n)
	}
	_, rule := taggedRule(t, plan.RenameOptions{Retag: true})
	must(t, apply.Tell(t.Context(), clients, scanOf(url), rule, apply.KeysOptions{}))
	if got := membersOf(t, clients, "topic:1"); len(got) != 3 {
		t.Errorf("told though it is copied: %v", got)
	}
	if got := membersOf(t, clients, "tag:1"); got["page:1"] != got["pg:1"] || got["pg:1"] == "" || len(got) != 2*(3+1)+2 {
		t.Errorf("told: %v", got)
	}
	r, _ := taggedRule(t, plan.RenameOptions{})
	r.run(t, url, plan.RenameOptions{Retag: true}, apply.KeysOptions{})
	if n := planned(); n != 0 {
		t.Errorf("%d keys are planned again", n)
	}
}

// A set of many members goes by scripts that are short.
func TestRenameLargeTag(t *testing.T) {
	t.Parallel()
	url := kt.Start(t, kt.Valkey).URL()
	clients := applytest.Open(t, url)
	applytest.Do(t, clients, 0, "EVAL", `for i = 1, 3000 do redis.call('ZADD', 'tag:1', i, 'page:' .. i) end`, "0")
	r, _ := taggedRule(t, plan.RenameOptions{})
	r.run(t, url, plan.RenameOptions{Retag: true}, apply.KeysOptions{})
	got := membersOf(t, clients, "tag:1")
	for i := 1; i <= 3000; i++ {
		if got["pg:"+strconv.Itoa(i)] != strconv.Itoa(i) {
			t.Fatalf("%d has the score %q", i, got["pg:"+strconv.Itoa(i)])
		}
	}
	if len(got) != 3000 {
		t.Errorf("%d members", len(got))
	}
}

// A value that comes under its old name while its set loses that name is within reach of its tag,
// on one server and over slots.
func TestAValueThatComesWhileItIsRetagged(t *testing.T) {
	for _, cluster := range []bool{false, true} {
		t.Run(fmt.Sprint("cluster ", cluster), func(t *testing.T) {
			url := ""
			if cluster {
				url = kt.StartCluster(t, kt.Valkey, 2, 0).URL()
			} else {
				url = kt.Start(t, kt.Redis).URL()
			}
			clients := applytest.Open(t, url)
			comes := func() bool {
				taggedServer(t, clients, 2)
				r, _ := taggedRule(t, plan.RenameOptions{})
				o := apply.KeysOptions{}
				apply.Asked(&o, func(set []byte) {
					if string(set) != "tag:1" {
						return
					}
					applytest.Do(t, clients, 0, "SET", "page:1", "again", "PX", "600000")
					applytest.Do(t, clients, 0, "ZADD", "tag:1", "4102444800777", "page:1")
				})
				r.run(t, url, plan.RenameOptions{Retag: true}, o)
				return applytest.Do(t, clients, 0, "ZSCORE", "tag:1", "page:1") != nil
			}
			if !comes() {
				t.Error("the tag does not reach it")
			}
			if cluster {
				return
			}
			restore, ok := apply.MutateRetag("if goes and call('EXISTS', KEYS[at]) == 1 then goes = false end", "")
			defer restore()
			if !ok || comes() {
				t.Errorf("the script does not ask, and nothing is lost: the test tests nothing (%v)", ok)
			}
		})
	}
}

// Why a change of keys is not complete is said once, however many times it has read the keys.
func TestReasonsOfAllReadings(t *testing.T) {
	t.Parallel()
	url := kt.Start(t, kt.Valkey).URL()
	clients := applytest.Open(t, url)
	taggedServer(t, clients, 2)
	_, rule := taggedRule(t, plan.RenameOptions{Retag: true})
	scan := func(context.Context, func([]source.Key) error) (source.Summary, error) {
		return source.Summary{Incomplete: source.Reasons{{Code: source.Ended, What: "x"}}}, nil
	}
	report, err := apply.Keys(t.Context(), clients, scan, rule, apply.KeysOptions{})
	if err != nil || len(report.Summary.Incomplete) != 1 {
		t.Errorf("%v %v", report.Summary.Incomplete, err)
	}
}
