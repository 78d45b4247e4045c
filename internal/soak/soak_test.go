package soak_test

import (
	"slices"
	"testing"

	"github.com/keywright/keywright/internal/soak"
	"github.com/keywright/keywright/keywrighttest"
)

func TestBrands(t *testing.T) {
	t.Setenv("KEYWRIGHT_SOAK", "")
	met := map[keywrighttest.Brand]bool{}
	for range 1000 {
		drawn := soak.Brands()
		if len(drawn) != 1 {
			t.Fatal(drawn)
		}
		met[drawn[0]] = true
	}
	if len(met) != len(keywrighttest.Brands()) {
		t.Errorf("only %v are ever drawn", met)
	}
	t.Setenv("KEYWRIGHT_SOAK", "1")
	if got := soak.Brands(); !slices.Equal(got, keywrighttest.Brands()) {
		t.Error(got)
	}
}
