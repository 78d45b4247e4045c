package serve

import (
	"net/http"
	"reflect"

	"github.com/keywright/keywright/cmd/keywright/internal/explain"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace/finding"
)

// Explained describes what there is to say of a key.
type Explained struct {
	explain.Located
	Failed *document.Failed `json:"failed,omitempty"` // why the server could not be asked
}

func explainKey(q *request) (any, error) {
	key := q.query.Get("key")
	if len(key) > maxKey {
		return nil, reply.Fail(http.StatusBadRequest, "bad-parameter", "the key is longer than 64 KiB", "")
	}
	l := q.target.Find([]byte(key))
	out := Explained{}
	if q.target.Server != nil {
		ctx, cancel, failed := q.ask()
		if failed != nil {
			return nil, failed
		}
		defer cancel()
		if err := l.Inspect(ctx, q.target.Server.Config); err != nil {
			out.Failed = &document.Failed{At: document.StampOf(q.server.Now()), What: finding.Printable(err.Error())}
		}
	}
	out.Located = *l
	return out, nil
}

// ValueAsk says which value is looked at.
type ValueAsk struct {
	Key *finding.JSONKey `json:"key"` // by its text, or by base64 where it is not UTF-8
}

// ValuePage describes the value of a key, as far as it may be shown.
type ValuePage struct {
	explain.Value
	At document.Stamp `json:"at"` // when it was read
}

var valueRoutes = []route{
	{method: "POST", path: "/api/v1/t/{target}/value",
		what:  "Shows the value of a key, for operators where --show-values is given; each look is noted",
		takes: reflect.TypeFor[ValueAsk](), answer: reflect.TypeFor[ValuePage](), handle: value},
}

// maxKey bounds the name of a key that a request is about.
const maxKey = 64 << 10

func value(q *request) (any, error) {
	if failed := q.looks(); failed != nil {
		return nil, failed
	}
	var in ValueAsk
	if err := q.read(&in); err != nil {
		return nil, err
	}
	if in.Key == nil {
		return nil, reply.Fail(http.StatusBadRequest, "bad-json", "key is missing", `send {"key":{"text":"…"}}`)
	}
	ctx, cancel, failed := q.ask()
	if failed != nil {
		return nil, failed
	}
	defer cancel()
	if err := q.server.Desk.Look(q.target.ID, q.by(), *in.Key); err != nil {
		return nil, refused(err)
	}
	v, err := q.target.Find(*in.Key).Look(ctx, q.target.Server.Config)
	if err != nil {
		return nil, reply.Away(err)
	}
	return ValuePage{*v, document.StampOf(q.server.Now())}, nil
}
