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
	"github.com/keywright/keywright/value/seal"
)

// sizes lists those of the texts, in bytes.
var sizes = []int{100, 64 << 10}

// texts races sealing and opening against AES-GCM with a key that was made before: ours
// derives one for each place.
func (o *options) texts(ctx context.Context) (tables []report.Table, goals []report.Goal, err error) {
	for _, size := range sizes {
		all, err := contestants(strings.Repeat("x", size))
		if err != nil {
			return tables, goals, err
		}
		rates, err := turns.Race(ctx, all, []int{1}, o.rounds, o.slice)
		if err != nil {
			return tables, goals, err
		}
		tables = append(tables, rates.Table(fmt.Sprintf("Texts of %d bytes, per second", size), 2))
	}
	return tables, goals, nil
}

func contestants(plain string) ([]turns.Contestant, error) {
	text, _, err := seal.Generate()
	if err != nil {
		return nil, err
	}
	ring, err := seal.Parse(text)
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
		{Name: "seal", Do: func(context.Context, int, int) error { _, err := ring.Seal(place, plain); return err }},
		{Name: "open", Do: func(context.Context, int, int) error { _, err := ring.Open(place, sealed); return err }},
		{Name: "AES-GCM, one key", Do: func(context.Context, int, int) error {
			_, _ = rand.Read(nonce)
			bare.Seal(nil, nonce, []byte(plain), nil)
			return nil
		}},
	}, nil
}
