package serve

import (
	"net/http"
	"reflect"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/finding"
)

// ValueAsk says which value is looked at.
type ValueAsk struct {
	Key *finding.JSONKey `json:"key"` // by its text, or by base64 where it is not UTF-8
}

// ValuePage describes the value of a key, as far as it may be shown.
type ValuePage struct {
	answer.Value
	At Stamp `json:"at"` // when it was read
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
		return nil, problem(http.StatusBadRequest, "bad-json", "key is missing", `send {"key":{"text":"…"}}`)
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
		return nil, away(err)
	}
	return ValuePage{*v, stampOf(q.server.Now())}, nil
}
