package declare

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSchema bounds a JSON Schema file.
const maxSchema = 4 << 20

// schemaScheme is the scheme of the files beside a declaration, so that no
// other place can be meant by a relative $ref.
const schemaScheme = "keyspace"

// SchemaChecker makes checks of values from the JSON Schema files beside a
// declaration. Nothing is loaded over the network, and nothing from outside of
// the declaration's folder. What is loaded is written to read.
func SchemaChecker(declaration string, read io.Writer) func(file string) (func([]byte) error, error) {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(folder{filepath.Dir(declaration), read})
	compiler.AssertFormat()
	return func(file string) (func([]byte) error, error) {
		path, fragment, _ := strings.Cut(file, "#")
		schema, err := compiler.Compile(
			(&url.URL{Scheme: schemaScheme, Path: "/" + filepath.ToSlash(path), Fragment: fragment}).String())
		if err != nil {
			return nil, err
		}
		return func(value []byte) error {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
			if err != nil {
				return errors.New("not JSON")
			}
			return schema.Validate(v)
		}, nil
	}
}

// folder opens files in it and nothing else. What they hold goes to read, too.
type folder struct {
	path string
	read io.Writer
}

// Load implements jsonschema.URLLoader.
func (f folder) Load(location string) (any, error) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != schemaScheme || u.Host != "" {
		return nil, fmt.Errorf("%s is not a file beside the declaration; nothing is loaded from elsewhere", location)
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := filepath.FromSlash(strings.TrimPrefix(u.Path, "/"))
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSchema:
		return nil, fmt.Errorf("%s is no regular file of at most %d MiB", name, maxSchema>>20)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return jsonschema.UnmarshalJSON(io.TeeReader(io.LimitReader(file, maxSchema), f.read))
}
