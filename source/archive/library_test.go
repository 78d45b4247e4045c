package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

func library(t testing.TB, name, body string) source.Library {
	t.Helper()
	lib, err := source.ParseLibrary([]byte("#!lua name=" + name + "\n" + body))
	must(t, err)
	return lib
}

// withLibraries returns an archive with two libraries of functions and a record.
func withLibraries(t testing.TB) (file []byte, libraries []source.Library) {
	t.Helper()
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, archive.Meta{ID: "x"}, archive.Deflate)
	must(t, err)
	libraries = []source.Library{library(t, "one", "1"), library(t, "two", "22")}
	for i := range libraries {
		must(t, w.AddLibrary(&libraries[i]))
		must(t, w.AddLibrary(&libraries[i])) // it is there
	}
	other := library(t, "one", "another code")
	if err := w.AddLibrary(&other); !errors.Is(err, source.ErrLibrary) {
		t.Errorf("a library with another code: %v", err)
	}
	must(t, w.Add(&archive.Record{Entry: archive.Undeclared, Key: []byte("key"), Form: archive.Elements}))
	_, err = w.Close()
	must(t, err)
	return out.Bytes(), libraries
}

func TestLibraries(t *testing.T) {
	t.Parallel()
	file, want := withLibraries(t)
	same := func(a *archive.Archive) {
		t.Helper()
		var got []source.Library
		must(t, a.Libraries(func(lib source.Library) error {
			got = append(got, lib)
			return nil
		}))
		if !slices.EqualFunc(got, want, func(a, b source.Library) bool {
			return a.LibraryFact == b.LibraryFact && bytes.Equal(a.Code, b.Code)
		}) {
			t.Errorf("%+v", got)
		}
	}
	a, err := archive.Open(bytes.NewReader(file), int64(len(file)))
	must(t, err)
	same(a)
	_, index, err := archive.Verify(bytes.NewReader(file))
	must(t, err)
	if len(index.Libraries) != 2 || index.Libraries[1].Name != "two" || index.Libraries[1].Engine != "lua" {
		t.Errorf("%+v", index.Libraries)
	}

	// a program that knows no libraries counts the blocks of the index, and finds fewer than the footer says
	blocks := int64(0)
	for _, e := range a.Index.Entries {
		blocks += int64(len(e.Blocks))
	}
	if a.Footer.Blocks != blocks+2 {
		t.Errorf("%d blocks in the footer, %d in the index", a.Footer.Blocks, blocks)
	}

	cut := int(a.Footer.Index) // after the last block
	recovered, err := archive.Recover(bytes.NewReader(file[:cut]), int64(cut))
	var why *archive.CutError
	if !errors.As(err, &why) || why.Offset != int64(cut) {
		t.Fatal(err)
	}
	same(recovered)
	out := bytes.NewBuffer(slices.Clone(file[:cut]))
	w, err := recovered.Continue(out, why.Offset, archive.Deflate)
	must(t, err)
	must(t, w.AddLibrary(&want[0]))
	_, err = w.Close()
	must(t, err)
	if a, err = archive.Open(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil {
		t.Fatal(err)
	}
	same(a)
	_, _, err = archive.Verify(bytes.NewReader(out.Bytes()))
	must(t, err)
}

// What an archive says of libraries of functions is held against them, and bounded.
func TestForgedLibraries(t *testing.T) {
	t.Parallel()
	forged := func(change func(*archive.Writer)) []byte {
		var out bytes.Buffer
		w, err := archive.NewWriter(&out, archive.Meta{ID: "x"}, archive.Plain)
		must(t, err)
		change(w)
		_, err = w.Close()
		must(t, err)
		return out.Bytes()
	}
	for name, lib := range map[string]source.Library{
		"no name":      {LibraryFact: source.LibraryFact{Name: "one"}, Code: []byte("return 1")},
		"another name": {LibraryFact: source.LibraryFact{Name: "two"}, Code: []byte("#!lua name=one\n")},
		"a glob":       {LibraryFact: source.LibraryFact{Name: "*"}, Code: []byte("#!lua name=*\n")},
	} {
		file := forged(func(w *archive.Writer) { must(t, w.AddLibrary(&lib)) })
		if _, _, err := archive.Verify(bytes.NewReader(file)); err == nil {
			t.Errorf("%s: Verify finds nothing", name)
		}
		a, err := archive.Open(bytes.NewReader(file), int64(len(file)))
		if err == nil {
			err = a.Libraries(func(source.Library) error { return nil })
		}
		if err == nil {
			t.Errorf("%s: Libraries finds nothing", name)
		}
	}
	forged(func(w *archive.Writer) {
		for i := range source.MaxLibraries {
			lib := library(t, fmt.Sprint("l", i), "")
			must(t, w.AddLibrary(&lib))
		}
		lib := library(t, "more", "")
		if err := w.AddLibrary(&lib); !errors.Is(err, archive.ErrTooLarge) {
			t.Errorf("one more: %v", err)
		}
	})
	if _, err := source.ParseLibrary(append([]byte("#!lua name=x\n"), make([]byte, source.MaxLibrary)...)); err == nil {
		t.Error("a library that is too large is taken")
	}
}
