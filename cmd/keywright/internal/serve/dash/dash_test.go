package dash

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// each visits the built files.
func each(t *testing.T, visit func(name string, text []byte)) {
	t.Helper()
	files := Files()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err == nil {
			visit(name, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreSmall(t *testing.T) {
	const most = 80_000
	total := 0
	each(t, func(name string, text []byte) {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(text)
		_ = w.Close()
		total += packed.Len()
		t.Logf("%6d %s", packed.Len(), name)
	})
	if total == 0 || total >= most {
		t.Errorf("the dashboard has %d bytes, packed by gzip; it must have less than %d", total, most)
	}
}

// A name space is no address: nothing is ever fetched from it.
var (
	address    = regexp.MustCompile(`(?i)(?:https?:|wss?:)?//[a-z0-9-]+\.[a-z0-9.-]+[^\s"'` + "`" + `)<>]*`)
	nameSpaces = []string{"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml",
		"http://www.w3.org/1998/Math/MathML"}
)

func TestNoFileRefersToAnotherHost(t *testing.T) {
	each(t, func(name string, text []byte) {
		rest := string(text)
		for _, space := range nameSpaces {
			rest = strings.ReplaceAll(rest, space, "")
		}
		for _, found := range address.FindAllString(rest, -1) {
			t.Errorf("%s refers to %s", name, found)
		}
	})
}

// The page is served under a policy without inline scripts and styles.
func TestPageHasNothingInline(t *testing.T) {
	page, err := fs.ReadFile(Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, inline := range []string{`<style`, `\sstyle=`, `\son[a-z]+=`, `javascript:`, `<script[^>]*>[^<]`} {
		if found := regexp.MustCompile(`(?i)` + inline).FindString(string(page)); found != "" {
			t.Errorf("index.html has %q", found)
		}
	}
}

func TestPageRefersToFilesThatAreThere(t *testing.T) {
	page, err := fs.ReadFile(Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	digest := regexp.MustCompile(`^assets/[a-z]+-[\w-]{8}\.(js|css)$`)
	referred := map[string]bool{"index.html": true}
	for _, m := range regexp.MustCompile(`(?:src|href)="\./([^"]+)"`).FindAllStringSubmatch(string(page), -1) {
		referred[m[1]] = true
		if _, err := fs.Stat(Files(), m[1]); err != nil {
			t.Errorf("index.html refers to %s: %v", m[1], err)
		}
		if strings.HasPrefix(m[1], "assets/") && !digest.MatchString(m[1]) {
			t.Errorf("%s has no digest in its name, and browsers keep it for ever", m[1])
		}
	}
	each(t, func(name string, _ []byte) {
		if !referred[name] {
			t.Errorf("nothing refers to %s", name)
		}
	})
}
