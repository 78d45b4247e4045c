package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/lock"
	"github.com/spf13/cobra"
)

func locksBreakCommand(a *cli.App) *cobra.Command {
	var o change.Changing
	c := &cobra.Command{
		Use:   "break KEY...",
		Short: "Take locks from their holders",
		Long: `Says which holders would lose the locks of these keys, and with --apply takes each
from exactly that holder: if another process holds it by then, it is left alone. The
holder's context ends; the next waiter has the lock at once. What the lock protects is
only safe if it checks the fencing token.

` + change.PlanHelp + `

` + change.ExitCodesOfChanges,
		Example: `  keywright locks break lock:coupon:issue:42
  keywright locks break lock:coupon:issue:42 --apply
  keywright locks break lock:coupon:issue:42 lock:coupon:issue:43 --plan break.plan`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("`keywright locks` lists those that are held", "locks break takes the keys of locks")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			q := plan.Request{Options: map[string]string{"keys": change.Packed(args)}}
			return change.Change(c.Context(), a, Verbs()["locks break"], q, &o)
		},
	}
	o.Flags(a, c)
	return c
}

// loadConstructs reads the declaration and checks that it has entries of a construct.
func loadConstructs(r *change.Run, of keyspace.Construct) error {
	d, path, err := r.LoadDeclaration()
	if err != nil {
		return err
	}
	r.Schema = d.Keyspace
	_, err = cli.ConstructsOf(d.Keyspace, of, r.Request.Entries, path)
	return err
}

// constructs returns the entries that the request names.
func constructs(r *change.Run, of keyspace.Construct) []*keyspace.Entry {
	entries, _ := cli.ConstructsOf(r.Schema, of, r.Request.Entries, "") // that they are there was checked
	return entries
}

// loadLocks checks that the keys are those of locks.
func loadLocks(_ context.Context, r *change.Run) error {
	if err := loadConstructs(r, keyspace.Lock); err != nil {
		return err
	}
	for _, key := range change.Unpacked(r.Request.Options["keys"]) {
		if e, _ := lockOf(r, key); e == nil {
			return cli.Usage("`keywright locks` lists those that are held", "%q is the key of no declared lock", key)
		}
	}
	return nil
}

// lockOf returns the entry of a lock, and the values in its key; nil for no lock.
func lockOf(r *change.Run, key string) (*keyspace.Entry, bind.Values) {
	for _, e := range constructs(r, keyspace.Lock) {
		if values, ok := bind.Read(e.Keys[0].Pattern, key); ok {
			return e, values
		}
	}
	return nil, nil
}

// findHeld finds those of the locks that are held.
func findHeld(ctx context.Context, r *change.Run, found *change.Findings) error {
	c, err := r.Client()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, key := range change.Unpacked(r.Request.Options["keys"]) {
		if seen[key] {
			continue
		}
		seen[key] = true
		e, values := lockOf(r, key)
		l := bind.Lock(c, r.Schema, e, values)
		h, err := l.Holder(ctx)
		if err != nil {
			return err
		}
		if h.Token == "" {
			found.Leave(e.Name, plan.NotHeld, []byte(key), r.Request.DB)
			continue
		}
		token := h.Token
		found.Add(plan.Change{Verb: "break", Entry: e.Name, Key: finding.JSONKey(key), DB: r.Request.DB,
			Before: heldBy(&h), After: "free for the next", If: tokenIs(token)},
			func(ctx context.Context, _ *plan.Change) (plan.Code, error) { return breakLock(ctx, l, token) })
	}
	return nil
}

// heldBy says who holds a lock, in a way that is the same as long as it does.
func heldBy(h *lock.Holder) string {
	text := "held by " + finding.Key([]byte(h.Owner))
	if h.Fence > 0 {
		text += ", fencing token " + fmt.Sprint(h.Fence)
	}
	return text
}

// tokenIs returns the condition that a lock has a token, which is not in the plan itself: with
// it anyone could give the lock back.
func tokenIs(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "SHA-256 of the token: " + hex.EncodeToString(sum[:8])
}

// breakLock takes a lock from the holder of a token.
func breakLock(ctx context.Context, l lock.Lock, token string) (plan.Code, error) {
	broken, err := l.Break(ctx, token)
	if err == nil && !broken {
		return plan.Changed, nil
	}
	return "", err
}
