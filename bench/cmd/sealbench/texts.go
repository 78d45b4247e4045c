package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

// sizes lists those of the texts, in bytes.
var sizes = []int{100, 64 << 10}

// texts races sealing and opening against AES-GCM with a key that was made before: ours
// derives one for each place.
func (o *options) texts(ctx context.Context, out *report.Report) error {
	for _, size := range sizes {
		all, err := contestants(strings.Repeat("x", size))
		if err != nil {
			return err
		}
		race := turns.Race{Title: fmt.Sprintf("Texts of %d bytes, per second", size), All: all, Callers: []int{1}, By: 2}
		if err := race.Show(ctx, out, o.Rounds, o.Slice); err != nil {
			return err
		}
	}
	return nil
}

func contestants(plain string) ([]turns.Contestant, error) {
	ring, _, err := rings()
	if err != nil {
		return nil, err
	}
	place := keywright.Place{Schema: "shop", Key: "user:1", Field: "phone"}
	sealed, err := ring.Seal(place, plain)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		return nil, err
	}
	bare, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, bare.NonceSize())
	return []turns.Contestant{
		{Name: "seal", Do: func(context.Context, int, int) error { return turns.Err(ring.Seal(place, plain)) }},
		{Name: "open", Do: func(context.Context, int, int) error { return turns.Err(ring.Open(place, sealed)) }},
		{Name: "AES-GCM, one key", Do: func(context.Context, int, int) error {
			_, _ = rand.Read(nonce)
			bare.Seal(nil, nonce, []byte(plain), nil)
			return nil
		}},
	}, nil
}
