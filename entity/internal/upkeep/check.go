package upkeep

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/maintenance"
	"github.com/keywright/keywright/kernel"
)

// Check compares all items with all entries: see entity.Store.Check.
func Check(ctx context.Context, s *itemkeys.Keys, o maintenance.CheckOptions) (maintenance.Checked, error) {
	if s.Err != nil {
		return maintenance.Checked{}, s.Err
	}
	if said, err := s.MarksText(ctx); err != nil || indexrecord.ReadMarks(said).Newer {
		return maintenance.Checked{}, cmp.Or(err, s.NewerForm(""))
	}
	c := &check{store: s, options: o, suspects: map[string]map[string]bool{}}
	err := errors.Join(c.scan(ctx), c.registered(ctx))
	began := time.Now()
	for i, id := range slices.Sorted(maps.Keys(c.suspects)) {
		if err != nil {
			break
		}
		err = c.wrong(ctx, id)
		if i%100 == 99 {
			itemkeys.Pause(ctx, time.Duration(i)*time.Second/time.Duration(rate(o.Rate))-time.Since(began))
		}
	}
	return c.checked, err
}

// Repair puts one item right: see entity.Store.Repair.
func Repair(ctx context.Context, s *itemkeys.Keys, id string, keys ...string) (problems int, err error) {
	if s.Err != nil {
		return 0, s.Err
	}
	c := &check{store: s, options: maintenance.CheckOptions{Apply: true}, suspects: map[string]map[string]bool{}}
	c.suspect(id, slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == "" })...)
	err = c.judge(ctx, id)
	return c.checked.Problems, err
}

// wrong judges an item, and tells Wrong of its problems.
func (c *check) wrong(ctx context.Context, id string) error {
	if c.options.Wrong == nil {
		return c.judge(ctx, id)
	}
	found, tell := []maintenance.Problem(nil), c.options.Found
	c.options.Found = func(p maintenance.Problem) {
		if found = append(found, p); tell != nil {
			tell(p)
		}
	}
	err := c.judge(ctx, id)
	if c.options.Found = tell; err == nil && len(found) > 0 {
		err = c.options.Wrong(ctx, found)
	}
	return err
}

// check represents one check at work: first everything is seen, then what looks wrong
// is looked at again, in one step.
type check struct {
	store    *itemkeys.Keys
	options  maintenance.CheckOptions
	checked  maintenance.Checked
	suspects map[string]map[string]bool // id → index keys that it was seen in
	busy     bool                       // the item that was looked at last is being written: nothing was put right
}

func (c *check) suspect(id string, keys ...string) {
	if c.suspects[id] == nil {
		c.suspects[id] = map[string]bool{}
	}
	for _, key := range keys {
		c.suspects[id][key] = true
	}
}

// scan looks at every item and every index that there is.
func (c *check) scan(ctx context.Context) error {
	primaries, err := c.store.Client.Primaries(ctx)
	if err != nil {
		return err
	}
	for _, node := range primaries {
		if err := c.scanNode(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

const scanCount = 500

func (c *check) scanNode(ctx context.Context, node kernel.Raw) error {
	a := c.store.Action("check", keywright.Reads, "", nil)
	for cursor := uint64(0); ; {
		began := time.Now()
		page, err := kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
			return node.Do(ctx, node.B().Scan().Cursor(cursor).Count(scanCount).Build())
		}, func(r kernel.Reply) (kernel.ScanEntry, error) { return r.AsScanEntry() })
		if err == nil {
			err = c.Page(ctx, page.Elements)
		}
		if err != nil || page.Cursor == 0 {
			return err
		}
		cursor = page.Cursor
		itemkeys.Pause(ctx, scanCount*time.Second/time.Duration(rate(c.options.Rate))-time.Since(began))
	}
}

// Page looks at a page of the keyspace.
func (c *check) Page(ctx context.Context, keys []string) error {
	var ids []string
	for _, key := range keys {
		if c.store.Spec.IsItem(key) {
			ids = append(ids, c.store.ID(key))
			continue
		}
		for i := range c.store.Spec.Indexes {
			if ix := &c.store.Spec.Indexes[i]; ix.Has(key) && ix.Declares(key) {
				if err := c.members(ctx, ix, key); err != nil {
					return err
				}
			}
		}
	}
	return c.items(ctx, ids)
}

// items looks at the entries of items that are there.
func (c *check) items(ctx context.Context, ids []string) error {
	for _, id := range ids {
		c.suspect(id)
	}
	return nil
}

// members notes which ids are in an index.
func (c *check) members(ctx context.Context, ix *itemkeys.Index, key string) error {
	raw := c.store.Client.Raw()
	a := c.store.Action("check", keywright.Reads, key, nil)
	for cursor := uint64(0); ; {
		page, err := kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
			return raw.Do(ctx, raw.B().Zscan().Key(key).Cursor(cursor).Count(scanCount).Build())
		}, func(r kernel.Reply) (kernel.ScanEntry, error) { return r.AsScanEntry() })
		if err != nil {
			return err
		}
		for i := 0; i < len(page.Elements); i += 2 { // each with its score
			c.checked.Entries++
			c.suspect(page.Elements[i], key)
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}

// registered looks at the items that have an index record.
func (c *check) registered(ctx context.Context) error {
	for page, err := range c.store.ScanRecords(ctx) {
		if err != nil {
			return err
		}
		for _, r := range page {
			c.suspect(r.ID)
		}
	}
	return nil
}

// judge compares one item with its entries, again while it changes.
func (c *check) judge(ctx context.Context, id string) error {
	for {
		again, err := c.compare(ctx, id)
		if err != nil || !again {
			return err
		}
	}
}

func (c *check) compare(ctx context.Context, id string) (again bool, err error) {
	s := c.store
	if s.CrossSlot {
		return c.compareCrossSlot(ctx, id)
	}
	texts, there, err := IndexedTexts(ctx, s, id)
	if err != nil {
		return false, err
	}
	a := s.Action("check", keywright.Reads, s.Key(id), nil)
	had, err := s.ReadRecord(ctx, &a, id)
	if err != nil {
		return false, err
	}
	if !indexrecord.Formed(had) {
		c.problem(maintenance.Problem{ID: id, What: "form"})
		return false, nil
	}
	entries, record := s.ShouldBe(texts, there)
	for t := range s.Traces(had) {
		if key := t.Key(); t.Index >= 0 && key != "" &&
			!slices.ContainsFunc(entries, func(e itemkeys.Belonging) bool { return e.Key == key }) {
			entries = append(entries, itemkeys.Belonging{Key: key, In: "out"})
		}
	}
	if record = s.RecordOf(s.KnownPlaces(record), had, false); !there {
		for _, e := range s.UnknownEntries(had) {
			entries = append(entries, itemkeys.Belonging{Key: e.Key, In: "out"})
		}
	}
	for key := range c.suspects[id] {
		if !slices.ContainsFunc(entries, func(e itemkeys.Belonging) bool { return e.Key == key }) {
			entries = append(entries, itemkeys.Belonging{Key: key, In: "out"})
		}
	}
	keys, args := Comparison(s, id, texts, there, had, record, entries, c.options.Apply)
	reply, err := s.Run(ctx, "check", s.Scripts.Repair, keywright.Idempotent, keys, args...)
	switch {
	case err != nil:
		return false, err
	case reply[0] == "changed":
		return true, nil
	case reply[0] == "expired":
		c.checked.Expired++
		return false, nil
	}
	if there {
		c.checked.Items++
	}
	for _, wrong := range reply[1:] {
		p := maintenance.Problem{ID: id, What: wrong}
		if number, what, ok := strings.Cut(wrong, " "); ok {
			k, _ := strconv.Atoi(number)
			p.Key, p.What = keys[k-1], what
		}
		c.problem(p)
	}
	return false, nil
}

func (c *check) problem(p maintenance.Problem) {
	c.checked.Problems++
	if c.options.Found != nil {
		c.options.Found(p)
	}
}

// IndexedTexts reads these fields, and those that say how long it lives; there is whether the item is there at all.
func IndexedTexts(ctx context.Context, s *itemkeys.Keys, id string) (texts map[string]itemkeys.StoredText,
	there bool, err error) {
	key := s.Key(id)
	texts = map[string]itemkeys.StoredText{}
	var b keywright.Batch
	exists := keywright.Queue(&b, kernel.NewOp(kernel.Spec[bool]{Action: s.Action("check", keywright.Reads, key, nil),
		Build:  func(b kernel.Builder) kernel.Command { return b.Exists().Key(key).Build() },
		Decode: func(r kernel.Reply) (bool, error) { return r.AsBool() }}))
	names := s.IndexColumns()
	if s.Spec.Rule != nil {
		names = append(names, s.Spec.TTLFields...)
	}
	fields := keywright.Queue(&b,
		kernel.NewOp(kernel.Spec[[]kernel.Value]{Action: s.Action("check", keywright.Reads, key, nil),
			Build: func(b kernel.Builder) kernel.Command {
				return b.Hmget().Key(key).Field(append(names, "")...).Build()
			},
			Decode: func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() }}))
	if err = b.Run(ctx); err != nil {
		return nil, false, err
	}
	there, _ = exists.Result()
	all, _ := fields.Result()
	for i, name := range names {
		t, bad := all[i].ToString()
		texts[name] = itemkeys.StoredText{Text: t, There: bad == nil}
	}
	return texts, there, nil
}

// missingTTL returns the TTL in ms of an item that has none, "" where it may live for
// ever: by the rule if its fields decide it, else the declared default.
func missingTTL(s *itemkeys.Keys, texts map[string]itemkeys.StoredText) string {
	ttl := s.Entry.TTL
	if ttl.Policy != keywright.Expires || s.Spec.Expires == "" {
		return ""
	}
	lasts := ttl.Default
	if s.Spec.Rule != nil {
		if ttl, known := s.Spec.Rule(texts); known {
			lasts = cmp.Or(ttl, lasts)
		}
	}
	return strconv.FormatInt(lasts.Milliseconds(), 10)
}

// Comparison returns the keys and arguments of the script `repair`.
func Comparison(s *itemkeys.Keys, id string, texts map[string]itemkeys.StoredText, there bool, had, record string,
	entries []itemkeys.Belonging,
	apply bool) (keys, args []string) {
	expires := cmp.Or(s.Spec.Expires, s.Spec.Records)
	keys = []string{s.Key(id), expires, s.Spec.Records}
	keeps := s.Keeps
	if s.Spec.Expires == "" {
		keeps = "0"
	}
	args = []string{id, itemkeys.Flag(apply), keeps, itemkeys.Flag(there), record, strconv.Itoa(len(texts)),
		missingTTL(s, texts), had}
	for name, t := range texts {
		was := ""
		if t.There {
			was = "=" + t.Text
		}
		args = append(args, name, was)
	}
	for _, e := range entries {
		keys = append(keys, e.Key)
		args = append(args, e.In, e.Score)
	}
	return keys, args
}
