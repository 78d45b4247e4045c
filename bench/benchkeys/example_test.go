package benchkeys_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/keywright/keywright/bench/benchkeys"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/go-redis/v9"
)

//doc:begin hook

// hook lets a guard check each command of a go-redis client. A command that the declaration does not allow is not sent.
type hook struct{ guard *guard.Guard }

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := h.check(cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := h.check(cmd); err != nil {
				for _, cmd := range cmds {
					cmd.SetErr(err)
				}
				return err
			}
		}
		return next(ctx, cmds)
	}
}

func (h hook) check(cmd redis.Cmder) error {
	var args []string
	for _, a := range cmd.Args() {
		if b, ok := a.([]byte); ok {
			a = string(b)
		}
		args = append(args, fmt.Sprint(a))
	}
	for _, v := range h.guard.Check(args...) {
		if v.Problem != guard.Unsettled { // what only the server can tell: the audit finds it
			return v
		}
	}
	return nil
}

//doc:end

//doc:begin before

// keep is a part of a program that works with go-redis: it forgets the TTL.
func keep(ctx context.Context, rdb *redis.Client, id int64, page string) error {
	return rdb.Set(ctx, fmt.Sprintf("cache:page:%d", id), page, 0).Err()
}

//doc:end

//doc:begin after

// keepDeclared does the same by the generated builder, with its TTL.
func keepDeclared(ctx context.Context, rdb *redis.Client, id int64, page string) error {
	key, err := benchkeys.PageKey(id) // an error for what is no id
	if err != nil {
		return err
	}
	return rdb.Set(ctx, key, page, time.Minute).Err() // as the declaration says: the guard compares it
}

//doc:end

// A guard in front of a go-redis client.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	//doc:begin guard
	ks, findings := load.File(os.DirFS("."), "keyspace.yaml")
	g, err := guard.New(ks, guard.Options{Ignore: []string{"github.com/redis/go-redis/"}})
	if err != nil || len(findings) > 0 {
		panic(fmt.Sprint(err, findings))
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(options)
	defer rdb.Close()
	rdb.AddHook(hook{g})
	//doc:end

	var v *guard.Violation
	fmt.Println(errors.As(keep(ctx, rdb, 42, "…"), &v), v.Problem, v.Key)
	fmt.Println(keepDeclared(ctx, rdb, 42, "…"))
	_, err = rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Get(ctx, "cache:pgae:42")
		return nil
	})
	fmt.Println(errors.As(err, &v), v.Problem, v.Detail)
	// Output:
	// true key without a TTL cache:page:42
	// <nil>
	// true undeclared key did you mean cache:page:{id} (page)?
}
