package infer

import (
	"slices"

	yaml "go.yaml.in/yaml/v4"
)

// added lists the sections that Merge adds to.
var added = []string{"foreign", "vars", "keys", "channels"}

// extends reports whether a declaration has all of another, and only more entries of the
// sections that Merge adds to.
func extends(old, merged []byte) bool {
	var before, after yaml.Node
	if yaml.Unmarshal(old, &before) != nil || yaml.Unmarshal(merged, &after) != nil || len(after.Content) == 0 {
		return false
	}
	if len(before.Content) == 0 {
		return true
	}
	sections := map[string]*yaml.Node{}
	for list := after.Content[0].Content; len(list) > 1; list = list[2:] {
		sections[list[0].Value] = list[1]
	}
	for list := before.Content[0].Content; len(list) > 1; list = list[2:] {
		was, is := list[1], sections[list[0].Value]
		if is == nil {
			return false
		}
		if slices.Contains(added, list[0].Value) {
			if was.Tag == "!!null" {
				continue
			}
			first := *is
			first.Content = is.Content[:min(len(was.Content), len(is.Content))]
			is = &first
		}
		if !sameNode(was, is) {
			return false
		}
	}
	return true
}

// sameNode reports whether two nodes say the same.
func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, sameNode)
}
