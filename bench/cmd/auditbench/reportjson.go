package main

import (
	"errors"

	"github.com/keywright/keywright/bench/dataset"
)

func verifyReport(_ []byte, _ *dataset.Manifest) error { return errors.New("not yet") }
