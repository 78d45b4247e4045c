package queue

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
)

// limitOf is in a job's request before its own time limit in ms. The line of a job has no place for more words, and
// older programs do not read this one.
const limitOf = "~"

// form describes how jobs travel: by the script that can do everything, or by a lean one.
type form int

const (
	plain form = iota // an own id, the first lane, and nothing else
	full
)

func (f form) script() *keywright.Script {
	if f == plain {
		return standard.plain
	}
	return standard.enqueue
}

func (q Queue[T]) form(t *Task[T]) form {
	if t.ID == "" && (t.Lane == "" || t.Lane == q.keys.plain().Name) && t.In == 0 && t.At.IsZero() && t.Unique == "" &&
		t.UniqueFor == 0 && t.Retry == 0 && t.Timeout == 0 {
		return plain
	}
	return full
}

// formOf returns the form in which all of these can travel.
func (q Queue[T]) formOf(tasks []Task[T]) (f form) {
	for i := range tasks {
		f = max(f, q.form(&tasks[i]))
	}
	return f
}

// header returns what the script needs before the jobs.
func (q Queue[T]) header(f form, jobs int) (keys, args []string) {
	k := q.keys
	if f == plain {
		return append(make([]string, 0, 2+jobs), k.plain().Key, k.State), parts.Args("plain", jobs, "ttl", q.ttl(),
			"channel", k.Channel, "from", strconv.Itoa(len(k.Job.Before)+1), "to", strconv.Itoa(-len(k.Job.After)-1),
			"lane_name", cmp.Or(k.plain().Name, noName), "database", q.database())
	}
	keys = make([]string, 0, 5+len(k.Lanes)+2*jobs)
	keys = append(append(keys, k.Delayed, k.Runs, k.Leases, k.Dead, k.State), q.laneKeys()...)
	return keys, parts.Args("enqueue", 7*jobs, "lanes", strconv.Itoa(len(k.Lanes)), "ttl", q.ttl(),
		"channel", k.Channel, "database", q.database(), "before", k.Job.Before, "after", k.Job.After,
		"result_before", k.Result.Before, "result_after", k.Result.After, "lane_names", q.laneNames(),
		"clustered", q.clustered())
}

// write appends what the script needs of one job.
func (q Queue[T]) write(f form, t *Task[T], keys, args []string) (id string, _, _ []string, err error) {
	id, request := t.ID, ""
	if id == "" {
		id = rand.Text()
	} else {
		request = rand.Text()
	}
	if t.Timeout > 0 {
		request = cmp.Or(request, rand.Text()) + limitOf + milliseconds(t.Timeout)
	}
	if err := q.legal(id); err != nil {
		return "", nil, nil, q.invalid(fmt.Errorf("the id: %w", err), "give the job an ID as declared")
	}
	payload, err := q.payload(id, t)
	if err != nil {
		return "", nil, nil, err
	}
	if f == plain {
		return id, append(keys, q.keys.Job.Of(id)), append(args, payload), nil
	}
	lane, when, err := q.place(t)
	if err != nil {
		return "", nil, nil, q.invalid(err, "")
	}
	name, window := q.keys.Job.Of(id), ""
	job := name
	if t.Unique != "" {
		name, window = q.keys.Unique.Of(t.Unique), strconv.FormatInt(max(t.UniqueFor, 0).Milliseconds(), 10)
	}
	return id, append(keys, job, name), append(args, id, strconv.Itoa(lane), payload, when, window,
		strconv.Itoa(t.Retry), request), nil
}

// payload returns what a job carries as it is stored.
func (q Queue[T]) payload(id string, t *Task[T]) (string, error) {
	payload, err := q.sealed(id).Encode(t.Payload)
	if err != nil {
		return "", q.invalid(err, "")
	}
	if limit := cmp.Or(q.o.MaxPayload, maxPayload); len(payload) > limit {
		return "", q.invalid(fmt.Errorf("a payload of %d bytes; the limit is %d", len(payload), limit),
			"store it elsewhere and queue its name")
	}
	return payload, nil
}

// sealed returns the codec of a job's payload; one that seals is bound to the job's
// key and its field payload.
func (q Queue[T]) sealed(id string) *value.Codec[T] {
	if !q.codec.Sealed() {
		return q.codec
	}
	key := q.keys.Job.Of(id)
	return q.codec.Bind("payload",
		func(field, text string) (string, error) { return q.client.Seal(q.entry, key, field, text) },
		func(field, text string) (string, error) { return q.client.Unseal(q.entry, key, field, text) })
}

// legal reports whether an id may be part of a key.
func (q Queue[T]) legal(id string) error {
	if strings.TrimSpace(id) == "" {
		return errors.New("must not be empty")
	}
	if q.keys.ID != nil {
		return q.keys.ID(id)
	}
	if strings.ContainsAny(id, "{}:") {
		return errors.New("must not hold braces or colons")
	}
	return nil
}

// place returns the number of the lane, from 1, and when the job is due.
func (q Queue[T]) place(t *Task[T]) (lane int, when string, err error) {
	name := cmp.Or(t.Lane, q.keys.plain().Name)
	for i, l := range q.keys.Lanes {
		if l.Name == name {
			lane = i + 1
			break
		}
	}
	switch {
	case lane == 0:
		return 0, "", fmt.Errorf("there is no lane %q", t.Lane)
	case t.In != 0 && !t.At.IsZero():
		return 0, "", errors.New("two times are given, In and At")
	case t.In < 0 || t.UniqueFor < 0 || t.Retry < 0 || t.Timeout < 0:
		return 0, "", errors.New("one of In, UniqueFor, Retry and Timeout is negative")
	case t.In > 0:
		return lane, "+" + strconv.FormatInt(max(t.In.Milliseconds(), 1), 10), nil
	case !t.At.IsZero():
		return lane, strconv.FormatInt(max(t.At.UnixMilli(), 0), 10), nil
	}
	return lane, "", nil
}

func (q Queue[T]) ttl() string {
	if q.entry.TTL.Policy == keywright.Expires {
		return strconv.FormatInt(q.entry.TTL.Default.Milliseconds(), 10)
	}
	return "0"
}
