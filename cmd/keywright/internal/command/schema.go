package command

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

// schemaChecker makes checks of values from the JSON Schema files beside a
// declaration. Nothing is ever loaded over the network.
func schemaChecker(declaration string) func(file string) (func([]byte) error, error) {
	dir := filepath.Dir(declaration)
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(localLoader{})
	compiler.AssertFormat()
	return func(file string) (func([]byte) error, error) {
		path, fragment, _ := strings.Cut(file, "#")
		abs, err := filepath.Abs(filepath.Join(dir, path))
		if err != nil {
			return nil, err
		}
		location := (&url.URL{Scheme: "file", Path: abs, Fragment: fragment}).String()
		schema, err := compiler.Compile(location)
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

// localLoader opens files and nothing else.
type localLoader struct{}

// Load implements jsonschema.URLLoader.
func (localLoader) Load(location string) (any, error) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "file" {
		return nil, fmt.Errorf("%s is not a local file, and nothing is loaded over the network", location)
	}
	f, err := os.Open(u.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return jsonschema.UnmarshalJSON(io.LimitReader(f, maxSchema))
}
