package guard

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"
)

// client represents a rueidis client with a guard.
type client struct {
	rueidis.Client
	g *Guard
}

// refuse gives the violations as the error of a command, or reports them and
// lets it pass.
func (g *Guard) refuse(v *verdict) error {
	if len(v.found) == 0 {
		return nil
	}
	g.place(v)
	if g.options.Report != nil {
		for _, found := range v.found {
			g.options.Report(found)
		}
		return nil
	}
	if len(v.found) == 1 {
		return v.found[0]
	}
	errs := make([]error, len(v.found))
	for i, found := range v.found {
		errs[i] = found
	}
	return errors.Join(errs...)
}

// Do implements rueidis.Client.
func (c *client) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	var v verdict
	c.g.check(&v, cmd.Commands())
	if err := c.g.refuse(&v); err != nil {
		return rueidis.NewErrorResult(err)
	}
	if len(v.after) == 0 {
		return c.Client.Do(ctx, cmd)
	}
	return c.g.multi(ctx, c.Client, &v, []rueidis.Completed{cmd})[0]
}

// DoMulti implements rueidis.Client.
func (c *client) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	return c.g.doMulti(ctx, c.Client, cmds)
}

// multiplexer represents a client or a dedicated connection.
type multiplexer interface {
	B() rueidis.Builder
	DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult
}

func (g *Guard) doMulti(ctx context.Context, c multiplexer, cmds []rueidis.Completed) []rueidis.RedisResult {
	var v verdict
	for _, cmd := range cmds {
		g.check(&v, cmd.Commands())
	}
	if err := g.refuse(&v); err != nil {
		return failAll(len(cmds), err)
	}
	return g.multi(ctx, c, &v, cmds)
}

func failAll(n int, err error) []rueidis.RedisResult {
	out := make([]rueidis.RedisResult, n)
	for i := range out {
		out[i] = rueidis.NewErrorResult(err)
	}
	return out
}

// multi sends commands, and after them the questions about what they left, in
// one pipeline. What a violation does is done; in a test that refuses, the last
// reply becomes the error.
func (g *Guard) multi(ctx context.Context, c multiplexer, v *verdict, cmds []rueidis.Completed) []rueidis.RedisResult {
	n := len(cmds)
	asked := ask(c, v.after, cmds)
	results := c.DoMulti(ctx, asked...)
	if len(v.after) == 0 || len(results) < len(asked) {
		return results
	}
	g.answers(v, results[n:])
	v.after = nil
	if err := g.refuse(v); err != nil {
		results[n-1] = rueidis.NewErrorResult(err)
	}
	return results[:n]
}

// ask appends the questions to the commands.
func ask(c multiplexer, questions []question, cmds []rueidis.Completed) []rueidis.Completed {
	out := append(make([]rueidis.Completed, 0, len(cmds)+2*len(questions)), cmds...)
	for _, q := range questions {
		out = append(out, c.B().Pttl().Key(q.key).Build())
		if q.typed {
			out = append(out, c.B().Type().Key(q.key).Build())
		}
	}
	return out
}

func (g *Guard) answers(v *verdict, results []rueidis.RedisResult) {
	for _, q := range v.after {
		ms, err := results[0].AsInt64()
		results = results[1:]
		kind := ""
		if q.typed {
			kind, _ = results[0].ToString()
			results = results[1:]
		}
		if err == nil {
			g.answer(v, q, kind, ms)
		}
	}
}

// DoCache implements rueidis.Client.
func (c *client) DoCache(ctx context.Context, cmd rueidis.Cacheable, ttl time.Duration) rueidis.RedisResult {
	var v verdict
	c.g.check(&v, cmd.Commands())
	if err := c.g.refuse(&v); err != nil {
		return rueidis.NewErrorResult(err)
	}
	return c.Client.DoCache(ctx, cmd, ttl)
}

// DoMultiCache implements rueidis.Client.
func (c *client) DoMultiCache(ctx context.Context, multi ...rueidis.CacheableTTL) []rueidis.RedisResult {
	var v verdict
	for _, m := range multi {
		c.g.check(&v, m.Cmd.Commands())
	}
	if err := c.g.refuse(&v); err != nil {
		return failAll(len(multi), err)
	}
	return c.Client.DoMultiCache(ctx, multi...)
}

// noQuestions says why a command with an outcome that must be looked at is a
// violation there: its reply is still to be read from the connection.
const noQuestions = "its reply is a stream, and nothing can be asked after it: use Do"

// DoStream implements rueidis.Client. A command whose outcome only the server can
// tell is Unsettled here.
func (c *client) DoStream(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResultStream {
	var v verdict
	c.g.check(&v, cmd.Commands())
	v.unsettled(noQuestions)
	if err := c.g.refuse(&v); err != nil {
		return rueidis.NewErrorResultStream(err)
	}
	return c.Client.DoStream(ctx, cmd)
}

// DoMultiStream implements rueidis.Client; see DoStream.
func (c *client) DoMultiStream(ctx context.Context, cmds ...rueidis.Completed) rueidis.MultiRedisResultStream {
	var v verdict
	for _, cmd := range cmds {
		c.g.check(&v, cmd.Commands())
	}
	v.unsettled(noQuestions)
	if err := c.g.refuse(&v); err != nil {
		return rueidis.NewErrorResultStream(err)
	}
	return c.Client.DoMultiStream(ctx, cmds...)
}

// Receive implements rueidis.Client: what is subscribed to is looked at.
func (c *client) Receive(ctx context.Context, subscribe rueidis.Completed, fn func(rueidis.PubSubMessage)) error {
	if err := c.g.look(subscribe); err != nil {
		return err
	}
	return c.Client.Receive(ctx, subscribe, fn)
}

// look judges a command of which nothing is asked afterwards.
func (g *Guard) look(cmd rueidis.Completed) error {
	var v verdict
	g.check(&v, cmd.Commands())
	return g.refuse(&v)
}

// Dedicated implements rueidis.Client.
func (c *client) Dedicated(fn func(rueidis.DedicatedClient) error) error {
	return c.Client.Dedicated(func(d rueidis.DedicatedClient) error { return fn(&dedicated{DedicatedClient: d, g: c.g}) })
}

// Dedicate implements rueidis.Client.
func (c *client) Dedicate() (rueidis.DedicatedClient, func()) {
	d, cancel := c.Client.Dedicate()
	return &dedicated{DedicatedClient: d, g: c.g}, cancel
}

// Nodes implements rueidis.Client.
func (c *client) Nodes() map[string]rueidis.Client {
	out := map[string]rueidis.Client{}
	for address, node := range c.Client.Nodes() {
		out[address] = c.g.Wrap(node)
	}
	return out
}

// dedicated represents a connection of its own, on which a transaction may run: between
// MULTI and EXEC nothing can be asked, so the questions wait for EXEC.
type dedicated struct {
	rueidis.DedicatedClient
	g       *Guard
	inMulti bool
	waiting []question
}

// Receive implements rueidis.DedicatedClient.
func (d *dedicated) Receive(ctx context.Context, subscribe rueidis.Completed, fn func(rueidis.PubSubMessage)) error {
	if err := d.g.look(subscribe); err != nil {
		return err
	}
	return d.DedicatedClient.Receive(ctx, subscribe, fn)
}

// Do implements rueidis.DedicatedClient.
func (d *dedicated) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return d.DoMulti(ctx, cmd)[0]
}

// DoMulti implements rueidis.DedicatedClient.
func (d *dedicated) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	var v verdict
	for _, cmd := range cmds {
		args := cmd.Commands()
		d.g.check(&v, args)
		if len(args) > 0 {
			d.follow(lower(args[0]))
		}
	}
	if err := d.g.refuse(&v); err != nil {
		d.inMulti = false
		return failAll(len(cmds), err)
	}
	d.waiting = append(d.waiting, v.after...)
	if d.inMulti {
		return d.DedicatedClient.DoMulti(ctx, cmds...)
	}
	v.after, d.waiting = d.waiting, nil
	return d.g.multi(ctx, d.DedicatedClient, &v, cmds)
}

// follow keeps track of whether a transaction is open.
func (d *dedicated) follow(command string) {
	switch command {
	case "multi":
		d.inMulti = true
	case "exec", "discard", "reset":
		d.inMulti = false
	}
}
